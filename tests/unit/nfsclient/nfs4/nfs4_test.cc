// NFSv4 calls, and a client above them, against a server with injected faults.
#include "nfsclient/nfs4/nfs4.h"

#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "nfsclient/client.h"
#include "tests/fixtures/fake_nfs4.h"
#include "tests/fixtures/libnfs_raw.h"

namespace nfswalk::protocol {
namespace {

using Kind = FakeFault::Kind;
using Names = std::vector<std::string_view>;

const Credential kUser(1000, 100);
const std::string kFile = "a/b/c/file";
const std::vector<std::string> kFilePath = {"a", "a/b", "a/b/c", kFile};

class Nfs4Test : public testing::Test {
 protected:
  Nfs4Test() {
    for (const char* directory : {"a", "a/b", "a/b/c"}) {
      server_.Put(directory, {.type = FakeNode::Type::kDirectory, .mode = 0755, .nlink = 2});
    }
    server_.Put(kFile, {.data = "text"});
    server_.Put("a/link", {.type = FakeNode::Type::kSymlink, .data = "b"});
    nfs_ = std::move(*Nfs4::ConnectNfs4({"127.0.0.1", "/", server_.port(), 0, 4}, {}));
    root_ = nfs_->GetRoot(kUser).handle;
  }

  std::unique_ptr<Client> MountClient() {
    auto client = Client::Mount(*ParseMountUrl("nfs://127.0.0.1:" + std::to_string(server_.port()) +
                                               "/?version=4&actimeo=600"));
    EXPECT_TRUE(client.has_value()) << (client ? "" : client.error().message);
    return client ? std::move(*client) : nullptr;
  }
  // Mounts a client and caches the path of the file.
  std::unique_ptr<Client> MountAndStat() {
    auto client = MountClient();
    EXPECT_TRUE(client->Stat(kFile, kUser).has_value());
    return client;
  }
  LookupPathReply LookupPath(const Names& names) { return nfs_->LookupPath(root_, names, kUser); }
  LookupPathReply LookupFile() { return LookupPath({"a", "b", "c", "file"}); }
  // Expects that LookupFile() has succeeded.
  void ExpectFile(const LookupPathReply& reply) {
    EXPECT_EQ(reply.error, kOk);
    ExpectSteps(reply, kFilePath);
  }
  uint64_t FileidOf(const std::string& path) { return server_.Find(path)->fileid; }
  // Expects the steps of `reply` to be the files `paths`.
  void ExpectSteps(const LookupPathReply& reply, const std::vector<std::string>& paths) {
    ASSERT_EQ(reply.steps.size(), paths.size());
    for (size_t i = 0; i < paths.size(); ++i) {
      EXPECT_EQ(reply.steps[i].attributes.fileid, FileidOf(paths[i]));
      EXPECT_EQ(nfs_->GetAttributes(reply.steps[i].handle, kUser).attributes.fileid,
                FileidOf(paths[i]));
    }
  }

  FakeNfs4 server_;
  std::unique_ptr<Protocol> nfs_;
  FileHandle root_;
};

TEST_F(Nfs4Test, LookupPathReturnsHandlesAttributesAndRights) {
  const LookupPathReply reply = LookupFile();
  ExpectFile(reply);
  EXPECT_TRUE(reply.directory && reply.granted);
  for (const PathStep& step : reply.steps) EXPECT_TRUE(step.granted.has_value());
}

TEST_F(Nfs4Test, LookupPathStopsWhereSingleLookupsWould) {
  const LookupPathReply missing = LookupPath({"a", "b", "none", "x"});
  EXPECT_EQ(missing.error, std::errc::no_such_file_or_directory);
  ExpectSteps(missing, {"a", "a/b"});
  const LookupPathReply through_a_file = LookupPath({"a", "b", "c", "file", "x"});
  EXPECT_EQ(through_a_file.error, std::errc::not_a_directory);
  ExpectSteps(through_a_file, kFilePath);
  const LookupPathReply up = LookupPath({"a", "b", "..", "b", "c"});
  EXPECT_EQ(up.error, kOk);
  ExpectSteps(up, {"a", "a/b", "a", "a/b", "a/b/c"});
}

TEST_F(Nfs4Test, LookupPathRetriesADelayOfAnyOperation) {
  for (const int operation : {OP_LOOKUP, OP_GETATTR, OP_GETFH, OP_ACCESS}) {
    server_.Inject(operation, {.status = NFS4ERR_DELAY}, 1, 2);
    ExpectFile(LookupFile());
  }
}

TEST_F(Nfs4Test, ResourceSplitsThePathIntoSmallerCompounds) {
  // Refuses 3 + 4 * 4 operations once; the next COMPOUND has half the excess over the minimum.
  server_.Inject(OP_PUTFH, {.status = NFS4ERR_RESOURCE});
  ExpectFile(LookupFile());
}

// Steps decoded from a broken reply are valid, the rest is an error.
TEST_F(Nfs4Test, ABrokenReplyGivesAnErrorAndAValidPrefix) {
  for (const Kind kind : {Kind::kCutShort, Kind::kOutOfOrder, Kind::kMalformed, Kind::kGarbage}) {
    for (const int operation : {OP_LOOKUP, OP_GETATTR, OP_GETFH, OP_ACCESS}) {
      if (kind == Kind::kMalformed && operation != OP_GETATTR) continue;
      for (int after = 0; after < 4; ++after) {
        server_.Inject(operation, {.kind = kind}, 1, after);
        const LookupPathReply reply = LookupFile();
        if (reply.error == kOk) {
          ExpectSteps(reply, kFilePath);  // the whole reply was dropped and the call repeated
        } else {
          EXPECT_EQ(reply.error, std::errc::io_error);
          ExpectSteps(reply, {kFilePath.begin(), kFilePath.begin() + reply.steps.size()});
        }
      }
    }
  }
}

// protocol.h: a reply with an error carries attributes alone.
TEST_F(Nfs4Test, AnErrorComesWithoutTheRestOfItsReply) {
  server_.Put("link", {.type = FakeNode::Type::kSymlink, .data = "text"});
  server_.Put("data", {.data = "text"});
  const FileHandle link = nfs_->Lookup(root_, "link", kUser).handle;
  const FileHandle data = nfs_->Lookup(root_, "data", kUser).handle;
  server_.Inject(OP_GETATTR, {.kind = Kind::kMalformed}, 1, 1);  // the second: of the name
  const LookupReply found = nfs_->Lookup(root_, "link", kUser);
  EXPECT_EQ(found.error, std::errc::io_error);
  EXPECT_TRUE(found.handle.empty() && found.directory);
  server_.Inject(OP_GETATTR, {.kind = Kind::kMalformed});
  const ReadLinkReply text = nfs_->ReadLink(link, kUser);
  EXPECT_EQ(text.error, std::errc::io_error);
  EXPECT_EQ(text.target, "");
  std::array<std::byte, 10> into;
  server_.Inject(OP_READ, {.kind = Kind::kGarbage});
  const ReadReply read = nfs_->Read(data, 0, into, nullptr, kUser);
  EXPECT_EQ(read.error, std::errc::io_error);
  EXPECT_EQ(read.count_bytes, 0u);
  const CreateReply made = nfs_->Create(root_, "link", CreateMode::kUnchecked, {}, kUser);
  EXPECT_NE(made.error, kOk);
  EXPECT_FALSE(made.handle);
}

// Linux 6.1 damages the attributes behind data of some sizes (docs/protocols.md).
TEST_F(Nfs4Test, DataIsAsGoodWithoutTheAttributesBehindIt) {
  const FakeFault faults[] = {{.kind = Kind::kForged,
                               .forge =
                                   [](const std::string& good) {
                                     return good.substr(0, 8) + Xdr().U32(0).str() +
                                            good.substr(12);
                                   }},
                              {.kind = Kind::kGarbage},
                              {.kind = Kind::kCutShort},
                              {.status = NFS4ERR_DELAY},
                              {.status = NFS4ERR_IO}};
  const FileHandle file = LookupFile().steps.back().handle;
  for (const FakeFault& fault : faults) {
    std::array<std::byte, 100> into;
    server_.Inject(OP_GETATTR, fault);
    const ReadReply read = nfs_->Read(file, 0, into, nullptr, kUser);
    EXPECT_EQ(read.error, kOk);
    EXPECT_EQ(read.count_bytes, 4u);
    EXPECT_EQ(std::memcmp(into.data(), "text", 4), 0);
    EXPECT_EQ(read.attributes.has_value(), fault.kind == Kind::kCutShort) << "which cuts nothing";
  }
}

TEST_F(Nfs4Test, InvalidHandlesAreStaleAndTooSmallIsEIO) {
  for (const auto status : {NFS4ERR_FHEXPIRED, NFS4ERR_BADHANDLE, NFS4ERR_STALE}) {
    server_.Inject(OP_PUTFH, {.status = status});
    EXPECT_EQ(nfs_->GetAttributes(root_, kUser).error, kStale);
  }
  server_.Inject(OP_GETATTR, {.status = NFS4ERR_TOOSMALL});
  EXPECT_EQ(nfs_->GetAttributes(root_, kUser).error, std::errc::io_error);
}

TEST_F(Nfs4Test, AListingOfADirectoryThatIsGoneIsESTALE) {
  server_.Inject(OP_READDIR, {.status = NFS4ERR_NOENT});
  EXPECT_EQ(nfs_->ReadDir(root_, {}, true, kUser).error, kStale);
}

TEST_F(Nfs4Test, AChangeWhoseReplyIsLostIsJudgedByItsOutcome) {
  server_.Inject(OP_CREATE, {.kind = Kind::kLoseReply});
  const CreateReply made = nfs_->MakeDirectory(root_, "new", {.mode = 0755}, Credential(0, 0));
  EXPECT_EQ(made.error, std::errc::file_exists) << "it may be another client's";
  EXPECT_EQ(server_.calls(OP_CREATE), 2) << "the server keeps no replies";

  server_.Inject(OP_REMOVE, {.kind = Kind::kLoseReply});
  EXPECT_EQ(nfs_->RemoveDirectory(root_, "new", {}, Credential(0, 0)).error, kOk);
  EXPECT_FALSE(server_.Find("new").has_value());
}

TEST_F(Nfs4Test, ADelayAfterAChangeDoesNotRepeatIt) {
  server_.Inject(OP_GETATTR, {.status = NFS4ERR_DELAY});
  const CreateReply made = nfs_->MakeSymlink(root_, "new", "text", {}, Credential(0, 0));
  EXPECT_EQ(made.error, kOk);
  EXPECT_FALSE(made.attributes.has_value());
  EXPECT_EQ(server_.calls(OP_CREATE), 1);
}

// Another client has it open, or this one, whose CLOSE is on its way.
TEST_F(Nfs4Test, ARemovalOrRenameOfAnOpenFileIsSentAgain) {
  const FileHandle directory = LookupPath({"a"}).steps.back().handle;
  const auto remove = [&] { return nfs_->Remove(directory, "link", {}, Credential(0, 0)).error; };
  const auto rename = [&](const char* from, const char* to) {
    return nfs_->Rename(directory, from, directory, to, {}, Credential(0, 0)).error;
  };
  server_.Inject(OP_RENAME, {.status = NFS4ERR_FILE_OPEN});
  EXPECT_EQ(rename("link", "other"), kOk);
  EXPECT_EQ(rename("other", "link"), kOk);
  EXPECT_EQ(server_.calls(OP_RENAME), 3);
  server_.Inject(OP_REMOVE, {.status = NFS4ERR_FILE_OPEN}, 5);
  EXPECT_EQ(remove(), std::errc::device_or_resource_busy);
  EXPECT_EQ(server_.calls(OP_REMOVE), 5) << "for a second and a half";
  EXPECT_EQ(remove(), kOk);
}

// There is no time for another call: what the server has said is the answer.
TEST_F(Nfs4Test, ARefusalOfAnOpenFileIsToldWhereTimeIsUp) {
  server_.Inject(OP_REMOVE, {.status = NFS4ERR_FILE_OPEN});
  const CallDeadline soon(CallDeadline::Clock::now() + std::chrono::milliseconds(90));
  const FileHandle directory = LookupPath({"a"}).steps.back().handle;
  EXPECT_EQ(nfs_->Remove(directory, "link", {}, Credential(0, 0)).error,
            std::errc::device_or_resource_busy);
  EXPECT_EQ(server_.calls(OP_REMOVE), 1);
}

// WIRE-10.
TEST_F(Nfs4Test, AWriteOfOneMebibyteIsOneCall) {
  const std::vector<std::byte> data((1 << 20) + 1, std::byte{'d'});
  const FileHandle file = LookupFile().steps.back().handle;
  const uint64_t before = nfs_->rpcs_sent();
  EXPECT_EQ(nfs_->Write(file, 0, data, nullptr, Credential(0, 0)).count_bytes, 1u << 20);
  EXPECT_EQ(nfs_->rpcs_sent(), before + 1);
  EXPECT_EQ(server_.Find(kFile)->data, std::string(1 << 20, 'd'));
}

TEST_F(Nfs4Test, ALinkTextHasUpTo4096Bytes) {
  const std::string longest(4096, 't');
  const CreateReply made = nfs_->MakeSymlink(root_, "new", longest, {}, Credential(0, 0));
  ASSERT_EQ(made.error, kOk);
  EXPECT_EQ(nfs_->ReadLink(*made.handle, kUser).target, longest);
  EXPECT_EQ(nfs_->MakeSymlink(root_, "newer", longest + "t", {}, Credential(0, 0)).error,
            std::errc::filename_too_long);
}

// As many names as PATH_MAX allows, where the server has no limit.
TEST_F(Nfs4Test, APathOf2000NamesIsAtMost16Calls) {
  const std::string name = "a";
  Names names;
  for (int i = 0; i < 1000; ++i) {
    names.push_back(name);
    names.push_back("..");
  }
  const uint64_t before = nfs_->rpcs_sent();
  const LookupPathReply reply = LookupPath(names);
  EXPECT_EQ(reply.error, kOk);
  EXPECT_EQ(reply.steps.size(), names.size());
  EXPECT_LE(nfs_->rpcs_sent(), before + 16);
}

TEST_F(Nfs4Test, SetattrOfADirectoryIsNotAtomic) {
  const LookupPathReply path = LookupFile();
  const SetAttributes mode{.mode = 0700};
  EXPECT_FALSE(nfs_->SetAttributesOf(path.steps[0].handle, mode, kUser).file.atomic);
  EXPECT_TRUE(nfs_->SetAttributesOf(path.steps[3].handle, mode, kUser).file.atomic);
}

TEST_F(Nfs4Test, RemoveChecksTheType) {
  EXPECT_EQ(nfs_->Remove(root_, "a", {}, kUser).error, std::errc::is_a_directory);
  const FileHandle c = LookupPath({"a", "b", "c"}).steps.back().handle;
  EXPECT_EQ(nfs_->RemoveDirectory(c, "file", {}, kUser).error, std::errc::not_a_directory);
  EXPECT_TRUE(server_.Find(kFile).has_value());
  EXPECT_EQ(nfs_->Remove(c, "file", {}, kUser).error, kOk);
  EXPECT_EQ(nfs_->Remove(c, "file", {}, kUser).error, std::errc::no_such_file_or_directory);
}

TEST_F(Nfs4Test, NothingIsCachedFromAReplyThatDoesNotParse) {
  auto client = MountClient();
  server_.Inject(OP_GETATTR, {.kind = Kind::kMalformed}, kForEver, 3);
  EXPECT_EQ(client->Stat(kFile, kUser).error(), std::errc::io_error);
  // Nothing from the malformed result on is cached.
  const ResolveFlags cached{.cached = true};
  for (const std::string& path : {std::string("a/b/c"), kFile}) {
    EXPECT_EQ(client->Stat(path, kUser, cached).error(), std::errc::resource_unavailable_try_again);
  }
  auto other = Client::MountOver(std::move(nfs_), {});
  EXPECT_FALSE(other.has_value()) << "the root's attributes do not parse either";
}

// Only ENOENT of LOOKUP makes a negative dentry.
TEST_F(Nfs4Test, ANoEntOfAnotherOperationMakesNoNameNegative) {
  for (int after = 0; after < 5; ++after) {
    server_.Inject(OP_ACCESS, {.status = NFS4ERR_NOENT}, 1, after);
    auto client = MountClient();
    EXPECT_TRUE(client->Stat(kFile, kUser).has_value()) << after;
    EXPECT_TRUE(client->Stat(kFile, kUser).has_value()) << after;
  }
}

TEST_F(Nfs4Test, AnExpiredHandleIsLookedUpAgain) {
  auto client = MountAndStat();
  client->InvalidateCaches();
  server_.Inject(OP_PUTFH, {.status = NFS4ERR_FHEXPIRED});
  const auto found = client->Stat(kFile, kUser);
  ASSERT_TRUE(found.has_value());
  EXPECT_EQ(found->fileid, FileidOf(kFile));
}

// The name leads to another file when it is opened.
TEST_F(Nfs4Test, AnOpenOfAReplacedNameOpensTheNewFile) {
  server_.Put(kFile, {.mode = 0666, .data = "old"});
  auto client = MountAndStat();
  server_.Erase(kFile);
  server_.Put(kFile, {.mode = 0666, .data = "new"});
  auto file = client->Open(kFile, kMayRead, kUser);
  ASSERT_TRUE(file.has_value());
  std::array<std::byte, 8> into;
  ASSERT_EQ((*file)->PRead(into, 0), 3u);
  EXPECT_EQ(static_cast<char>(into[0]), 'n');
}

// The name of a regular file leads to a symbolic link, or nowhere, when it is opened.
TEST_F(Nfs4Test, AnOpenFollowsALinkThatReplacedTheFile) {
  server_.Put("a/b/c/target", {.mode = 0666, .data = "target"});
  auto client = MountAndStat();
  server_.Erase(kFile);
  server_.Put(kFile, {.type = FakeNode::Type::kSymlink, .data = "target"});
  auto file = client->Open(kFile, kMayRead, kUser);
  ASSERT_TRUE(file.has_value());
  EXPECT_EQ((*file)->attributes().fileid, FileidOf("a/b/c/target"));

  server_.Erase("a/b/c/target");
  EXPECT_EQ(client->Open("a/b/c/target", kMayRead, kUser).error(),
            std::errc::no_such_file_or_directory);
  EXPECT_EQ(client->Stat("a/b/c/target", kUser, {.cached = true}).error(),
            std::errc::no_such_file_or_directory);
}

TEST_F(Nfs4Test, AnOpenOfACachedFileSendsNoLookup) {
  auto client = MountAndStat();
  ASSERT_TRUE(client->Open(kFile, kMayRead, kUser).has_value());
  const int lookups = server_.calls(OP_LOOKUP);
  const int opens = server_.calls(OP_OPEN);
  ASSERT_TRUE(client->Open(kFile, kMayRead, kUser).has_value());
  EXPECT_EQ(server_.calls(OP_LOOKUP), lookups);
  EXPECT_EQ(server_.calls(OP_OPEN), opens + 1);
}

// On a hard mount, whose other calls wait for ever.
TEST(Nfs4Connect, AServerThatHasTheExportAndDoesNotTellOfItTimesOut) {
  for (const FakeFault& fault :
       {FakeFault{.status = NFS4ERR_DELAY}, FakeFault{FakeFault::Kind::kSilence},
        FakeFault{FakeFault::Kind::kLoseReply}}) {
    FakeNfs4 server;
    const auto nfs =
        Nfs4::ConnectNfs4({"127.0.0.1", "/", server.port(), 0, 4}, {.mount_timeout_ms = 200});
    ASSERT_TRUE(nfs.has_value());
    server.Inject(OP_GETATTR, fault, kForEver);
    EXPECT_EQ((*nfs)->GetRoot(kUser).error, std::errc::timed_out);
    EXPECT_GE(server.calls(OP_GETATTR), 1);
  }
}

}  // namespace
}  // namespace nfswalk::protocol
