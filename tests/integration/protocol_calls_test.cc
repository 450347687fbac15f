// Every call of Protocol against a real server: round trips, errno, credentials.
#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <set>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "access_cache/access_rights.h"
#include "tests/fixtures/protocol_session.h"

namespace nfswalk::protocol {
namespace {

const Credential kUser(1234, 1234);

class ProtocolCalls : public ProtocolSession {
 protected:
  FileHandle MakeFile(const std::string& name) {
    const CreateReply made =
        nfs().Create(root(), name, CreateMode::kUnchecked, {.mode = 0644}, kRoot);
    EXPECT_EQ(made.error, kOk);
    return made.handle.value_or(FileHandle());
  }
  // Writes in as many calls as needed. Returns the size of the first write, in bytes.
  size_t WriteAll(const FileHandle& file, std::span<const std::byte> data) {
    size_t done = 0;
    size_t first = 0;
    while (done < data.size()) {
      const WriteReply reply = nfs().Write(file, done, data.subspan(done), nullptr, kRoot);
      EXPECT_EQ(reply.error, kOk);
      if (reply.count_bytes == 0) break;
      if (done == 0) first = reply.count_bytes;
      done += reply.count_bytes;
    }
    EXPECT_EQ(done, data.size());
    return first;
  }
};

INSTANTIATE_TEST_SUITE_P(Versions, ProtocolCalls, fixtures::AllVersions(),
                         fixtures::VersionTestName);

TEST_P(ProtocolCalls, TheRootIsADirectoryAndTheLimitsFitTheTransport) {
  const RootReply root = nfs().GetRoot(kRoot);
  EXPECT_EQ(root.error, kOk);
  EXPECT_EQ(root.attributes.type, FileType::kDirectory);
  EXPECT_EQ(root.limits.name_bytes_max, 255u);
  EXPECT_GE(root.limits.read_bytes_max, 65'536u);
  EXPECT_LE(root.limits.read_bytes_max, 1024u * 1024);
  EXPECT_LE(root.limits.write_bytes_max, 1024u * 1024);
}

// WIRE-44.
TEST_P(ProtocolCalls, TheServerOfASessionBindsABackChannel) {
  if (version() == 3) GTEST_SKIP() << "it has no sessions";
  for (const uint32_t minor_version : {1, 2}) {
    SCOPED_TRACE(minor_version);
    ServerAddress address = Address();
    address.minor_version = minor_version;
    const Connected nfs = Connect(address, {});
    ASSERT_TRUE(nfs.has_value()) << nfs.error().message;
    while (!(*nfs)->transport_stats().has_back_channel) {
      ASSERT_EQ((*nfs)->GetAttributes(root(), kRoot).error, kOk);
    }
  }
}

TEST_P(ProtocolCalls, LookupReturnsTheHandleOfTheCreation) {
  const CreateReply made = nfs().MakeDirectory(root(), "d", {.mode = 0750}, kRoot);
  ASSERT_EQ(made.error, kOk);
  const LookupReply found = nfs().Lookup(root(), "d", kRoot);
  ASSERT_EQ(found.error, kOk);
  EXPECT_EQ(found.handle, *made.handle);
  ASSERT_TRUE(found.attributes.has_value());
  EXPECT_EQ(found.attributes->mode, 0750u);
  EXPECT_EQ(nfs().GetAttributes(found.handle, kRoot).attributes, *found.attributes);
}

TEST_P(ProtocolCalls, ChangesReturnTheDirectoryBeforeAndAfter) {
  const Attributes before = nfs().GetAttributes(root(), kRoot).attributes;
  // Not MKDIR: nfs-ganesha 4.3 sends no pre-operation attributes with it.
  const CreateReply made = nfs().MakeSymlink(root(), "s", "t", {}, kRoot);
  ASSERT_TRUE(made.directory.before && made.directory.after);
  EXPECT_TRUE(made.directory.before->Matches(before));
  EXPECT_EQ(made.directory.atomic, version() == 3 || server().properties().atomic_change_info);
  EXPECT_NE(made.directory.after->change, before.change);
}

TEST_P(ProtocolCalls, EachKindOfNodeIsMade) {
  using protocol::FileType;
  for (const FileType type :
       {FileType::kFifo, FileType::kSocket, FileType::kCharacterDevice, FileType::kBlockDevice}) {
    const bool is_device = type == FileType::kCharacterDevice || type == FileType::kBlockDevice;
    const Device device = is_device ? Device{250, 70'000} : Device{};
    const std::string name = std::to_string(static_cast<int>(type));
    const CreateReply made = nfs().MakeNode(root(), name, type, device, {.mode = 0640}, kRoot);
    ASSERT_EQ(made.error, kOk) << name;
    const LookupReply found = nfs().Lookup(root(), name, kRoot);
    ASSERT_TRUE(made.handle && found.attributes) << name;
    EXPECT_EQ(found.handle, *made.handle) << name;
    EXPECT_EQ(found.attributes->type, type);
    EXPECT_EQ(found.attributes->mode, 0640u) << name;
    EXPECT_EQ(found.attributes->rdev_major, device.major) << name;
    EXPECT_EQ(found.attributes->rdev_minor, device.minor) << name;
    EXPECT_EQ(nfs().MakeNode(root(), name, type, device, {}, kRoot).error, std::errc::file_exists);
  }
}

TEST_P(ProtocolCalls, AGuardedCreateSetsModeAndTimes) {
  SetAttributes wanted{.mode = 0604};
  wanted.mtime = SetTime{Time{1'000'000'000, 123'000'000}};
  const CreateReply made = nfs().Create(root(), "f", CreateMode::kGuarded, wanted, kUser);
  ASSERT_EQ(made.error, kOk);
  const Attributes found = nfs().GetAttributes(*made.handle, kUser).attributes;
  EXPECT_EQ(found.mode, 0604u);
  EXPECT_EQ(found.uid, kUser.uid());
  EXPECT_EQ(found.mtime, (Time{1'000'000'000, 123'000'000}));
  EXPECT_EQ(nfs().Create(root(), "f", CreateMode::kGuarded, wanted, kUser).error,
            std::errc::file_exists);
  EXPECT_EQ(nfs().Create(root(), "f", CreateMode::kUnchecked, wanted, kUser).error, kOk);
}

TEST_P(ProtocolCalls, OneMebibyteFitsIntoOneReadAndOneWrite) {
  const FileHandle file = MakeFile("f");
  const std::vector<std::byte> data(1024 * 1024, std::byte{7});
  EXPECT_EQ(WriteAll(file, data), data.size());
  std::vector<std::byte> into(data.size());
  EXPECT_EQ(nfs().Read(file, 0, into, nullptr, kRoot).count_bytes, data.size());
  EXPECT_EQ(into, data);
}

TEST_P(ProtocolCalls, AttributesAreSetAndTheServersTimeIsNow) {
  const FileHandle file = MakeFile("f");
  SetAttributes old{.mode = 0400, .uid = 5, .gid = 6, .size_bytes = 10};
  old.mtime = SetTime{Time{1, 0}};
  const FileChangeReply set = nfs().SetAttributesOf(file, old, kRoot);
  ASSERT_EQ(set.error, kOk);
  ASSERT_TRUE(set.file.after.has_value());
  EXPECT_EQ(set.file.after->mode, 0400u);
  EXPECT_EQ(set.file.after->uid, 5u);
  EXPECT_EQ(set.file.after->gid, 6u);
  EXPECT_EQ(set.file.after->size_bytes, 10u);
  EXPECT_EQ(set.file.after->mtime, (Time{1, 0}));
  SetAttributes now;
  now.mtime.emplace();
  EXPECT_GT(nfs().SetAttributesOf(file, now, kRoot).file.after->mtime.seconds, 1'000'000'000);
}

TEST_P(ProtocolCalls, ALargeDirectoryIsReadCompletelyInFewCalls) {
  const FileHandle directory = *nfs().MakeDirectory(root(), "big", {.mode = 0755}, kRoot).handle;
  constexpr int kEntries = 3'000;
  for (int i = 0; i < kEntries; ++i) {
    ASSERT_EQ(nfs().MakeSymlink(directory, std::to_string(i), "t", {}, kRoot).error, kOk);
  }
  for (const bool plus : {true, false}) {
    std::set<std::string> names;
    ReadDirPosition position;
    int calls = 0;
    for (bool eof = false; !eof; ++calls) {
      const ReadDirReply reply = nfs().ReadDir(directory, position, plus, kRoot);
      ASSERT_EQ(reply.error, kOk);
      if (plus && calls == 0) {
        EXPECT_LT(reply.entries.size(), 250u) << "lookups may wait for the first";
      }
      for (const DirectoryEntry& entry : reply.entries) {
        EXPECT_TRUE(names.insert(entry.name).second) << entry.name;
        EXPECT_EQ(entry.attributes && entry.handle, plus) << entry.name;
        position = {entry.cookie, reply.verifier};
      }
      eof = reply.eof;
    }
    const size_t dots = version() == 3 ? 2 : 0;  // version 4 does not list them
    EXPECT_EQ(names.size(), kEntries + dots) << "with . and ..";
    EXPECT_GE(calls, plus || version() == 3 ? 2 : 1);
    EXPECT_LE(calls, 20);
  }
}

TEST_P(ProtocolCalls, ErrorsAreThoseOfTheSystemCalls) {
  const FileHandle file = MakeFile("f");
  const FileHandle directory = *nfs().MakeDirectory(root(), "d", {.mode = 0755}, kRoot).handle;
  ASSERT_EQ(nfs().MakeDirectory(directory, "full", {.mode = 0755}, kRoot).error, kOk);
  std::array<std::byte, 1> byte{};
  EXPECT_EQ(nfs().Lookup(root(), "x", kRoot).error, std::errc::no_such_file_or_directory);
  EXPECT_TRUE(nfs().Lookup(root(), "x", kRoot).directory.has_value());
  EXPECT_EQ(nfs().Lookup(file, "x", kRoot).error, std::errc::not_a_directory);
  EXPECT_EQ(nfs().MakeDirectory(root(), "f", {}, kRoot).error, std::errc::file_exists);
  EXPECT_EQ(nfs().Remove(root(), "x", {}, kRoot).error, std::errc::no_such_file_or_directory);
  EXPECT_EQ(nfs().RemoveDirectory(root(), "d", {}, kRoot).error, std::errc::directory_not_empty);
  EXPECT_EQ(nfs().RemoveDirectory(root(), "f", {}, kRoot).error, std::errc::not_a_directory);
  EXPECT_EQ(nfs().Rename(root(), "x", root(), "y", {}, kRoot).error,
            std::errc::no_such_file_or_directory);
  EXPECT_EQ(nfs().ReadLink(file, kRoot).error, std::errc::invalid_argument);
  EXPECT_EQ(nfs().Read(directory, 0, byte, nullptr, kRoot).error, std::errc::is_a_directory);
  EXPECT_EQ(nfs().ReadDir(file, {}, true, kRoot).error, std::errc::not_a_directory);
  EXPECT_EQ(nfs().MakeDirectory(root(), "new", {.mode = 0755}, kRoot).error, kOk);
  const std::string denied = "in a directory of root";
  EXPECT_EQ(nfs().MakeDirectory(directory, denied, {}, kUser).error, std::errc::permission_denied);
}

// Removes a link, not a file: Linux closes a file only some time after CLOSE, and has its
// attributes until then.
TEST_P(ProtocolCalls, AHandleOfARemovedFileIsStale) {
  const CreateReply link = nfs().MakeSymlink(root(), "l", "target", {}, kRoot);
  ASSERT_EQ(link.error, kOk);
  ASSERT_EQ(nfs().Remove(root(), "l", {}, kRoot).error, kOk);
  EXPECT_EQ(nfs().GetAttributes(*link.handle, kRoot).error, kStale);
  const std::vector<uint8_t> garbage(24, 0xee);
  EXPECT_EQ(nfs().GetAttributes(FileHandle(garbage), kRoot).error, kStale);
}

TEST_P(ProtocolCalls, EachCallCarriesItsOwnCredential) {
  SetAttributes group_only{.mode = 0640, .uid = 7, .gid = 1001};
  const FileHandle file = MakeFile("f");
  ASSERT_EQ(nfs().SetAttributesOf(file, group_only, kRoot).error, kOk);
  std::vector<uint32_t> sixteen(16, 5);
  sixteen.back() = 1001;
  std::vector<uint32_t> seventeen(17, 5);
  seventeen.back() = 1001;
  const auto readable = [&](const Credential& credential) {
    const AccessReply reply = nfs().Access(file, credential);
    EXPECT_EQ(reply.error, kOk);
    return (reply.granted & access_cache::kServerRead) != 0;
  };
  EXPECT_TRUE(readable(Credential(7, 7)));
  EXPECT_TRUE(readable(Credential(8, 1001)));
  EXPECT_FALSE(readable(Credential(8, 8)));
  EXPECT_TRUE(readable(Credential(8, 8, {1001})));
  EXPECT_TRUE(readable(Credential(8, 8, sixteen)));
  EXPECT_FALSE(readable(Credential(8, 8, seventeen))) << "AUTH_SYS carries the first 16 only";
}

TEST_P(ProtocolCalls, AuthNoneHasTheRightsOfOthers) {
  const FileHandle file = MakeFile("f");
  ASSERT_EQ(nfs().SetAttributesOf(file, {.mode = 0604}, kRoot).error, kOk);
  EXPECT_EQ(nfs().Access(file, Credential()).granted &
                (access_cache::kServerRead | access_cache::kServerModify),
            access_cache::kServerRead);
  ASSERT_EQ(nfs().SetAttributesOf(file, {.mode = 0600}, kRoot).error, kOk);
  EXPECT_EQ(nfs().Access(file, Credential()).granted & access_cache::kServerRead, 0u);
}

// CRED-8.
TEST_P(ProtocolCalls, CredentialsOfManyThreadsDoNotMixOnOneConnection) {
  constexpr uint32_t kThreads = 4;
  constexpr int kRounds = 300;
  std::vector<FileHandle> files;
  for (uint32_t t = 0; t < kThreads; ++t) {
    files.push_back(MakeFile("f" + std::to_string(t)));
    const SetAttributes owner{.mode = 0600, .uid = 1000 + t, .gid = 1000 + t};
    ASSERT_EQ(nfs().SetAttributesOf(files.back(), owner, kRoot).error, kOk);
  }
  std::atomic<int> right = 0;
  {
    std::vector<std::jthread> threads;
    for (uint32_t t = 0; t < kThreads; ++t) {
      threads.emplace_back([&, t] {
        const Credential me(1000 + t, 1000 + t);
        for (int i = 0; i < kRounds; ++i) {
          const uint32_t whose = static_cast<uint32_t>(i) % kThreads;
          const AccessReply reply = nfs().Access(files[whose], me);
          right += reply.error == kOk &&
                   ((reply.granted & access_cache::kServerRead) != 0) == (whose == t);
        }
      });
    }
  }
  EXPECT_EQ(right, static_cast<int>(kThreads) * kRounds);
}

TEST_P(ProtocolCalls, OneCallIsOneRpc) {
  const uint64_t before = nfs().rpcs_sent();
  (void)nfs().GetAttributes(root(), kRoot);
  (void)nfs().Lookup(root(), "nothing", kRoot);
  (void)nfs().Access(root(), kRoot);
  EXPECT_EQ(nfs().rpcs_sent() - before, 3u);
}

}  // namespace
}  // namespace nfswalk::protocol
