#include "nfsclient/nfs3/nfs3.h"

#include <gtest/gtest.h>

#include <memory>
#include <semaphore>
#include <string>
#include <thread>

#include "tests/fixtures/fake_nfs3_mount.h"
#include "tests/fixtures/libnfs_raw.h"

namespace nfswalk::protocol {
namespace {

class Nfs3Test : public testing::Test, protected MountedNfs3 {};

// WIRE-4.
TEST_F(Nfs3Test, JukeboxIsRetriedAndNotReported) {
  server.Put("f", {});
  server.Inject(NFS3_LOOKUP, {.status = NFS3ERR_JUKEBOX});
  EXPECT_EQ(nfs->Lookup(root, "f", kUser).error, kOk);
  EXPECT_EQ(server.calls(NFS3_LOOKUP), 2);
  server.Inject(NFS3_REMOVE, {.status = NFS3ERR_JUKEBOX});
  EXPECT_EQ(nfs->Remove(root, "f", {}, kUser).error, kOk) << "non-idempotent calls too";
}

TEST(Nfs3, ASoftMountTimesOutOnJukebox) {
  MountedNfs3 mount({.hard = false, .timeo_ds = 1, .retrans = 1});
  mount.server.Inject(NFS3_GETATTR, {.status = NFS3ERR_JUKEBOX}, 1'000'000);
  EXPECT_EQ(mount.nfs->GetAttributes(mount.root, kUser).error, std::errc::timed_out);
}

TEST_F(Nfs3Test, NothingIsSentOnceTheTimeOfACallIsOver) {
  const CallDeadline deadline(CallDeadline::Clock::now());
  EXPECT_EQ(nfs->GetAttributes(root, kUser).error, std::errc::timed_out);
  EXPECT_EQ(server.calls(NFS3_GETATTR), 0);
}

// WIRE-11.
TEST_F(Nfs3Test, ReaddirplusFallsBackToReaddirForGoodWhereItIsNotSupported) {
  server.Put("f", {});
  server.Inject(NFS3_READDIRPLUS, {.status = NFS3ERR_NOTSUPP});
  for (int i = 0; i < 2; ++i) {
    const ReadDirReply reply = nfs->ReadDir(root, {}, true, kUser);
    EXPECT_EQ(reply.error, kOk);
    ASSERT_EQ(reply.entries.size(), 1u);
    EXPECT_FALSE(reply.entries[0].handle.has_value());
  }
  EXPECT_EQ(server.calls(NFS3_READDIRPLUS), 1);
}

TEST_F(Nfs3Test, ReaddirplusFallsBackToReaddirOnceWhereAnEntryIsTooLarge) {
  server.Put("f", {});
  server.Inject(NFS3_READDIRPLUS, {.status = NFS3ERR_TOOSMALL});
  EXPECT_EQ(nfs->ReadDir(root, {}, true, kUser).error, kOk);
  EXPECT_TRUE(nfs->ReadDir(root, {}, true, kUser).entries.at(0).handle.has_value());
}

TEST_F(Nfs3Test, ABadNameOrHandleIsNotSent) {
  const uint64_t before = nfs->rpcs_sent();
  const std::string name(256, 'x');
  for (const std::errc error :
       {nfs->Lookup(root, name, kUser).error,
        nfs->Create(root, name, CreateMode::kGuarded, {}, kUser).error,
        nfs->MakeDirectory(root, name, {}, kUser).error,
        nfs->MakeSymlink(root, name, "t", {}, kUser).error,
        nfs->MakeSymlink(root, "s", std::string(4097, 't'), {}, kUser).error,
        nfs->Link(root, root, name, kUser).error,
        nfs->Rename(root, "a", root, name, {}, kUser).error,
        nfs->Rename(root, name, root, "a", {}, kUser).error,
        nfs->Remove(root, name, {}, kUser).error,
        nfs->RemoveDirectory(root, name, {}, kUser).error}) {
    EXPECT_EQ(error, std::errc::filename_too_long);
  }
  EXPECT_EQ(nfs->GetAttributes(FileHandle(), kUser).error, kStale);
  EXPECT_EQ(nfs->rpcs_sent(), before);
}

TEST_F(Nfs3Test, TheLongestLinkTextIsSentAndRead) {
  const std::string text(kLinkBytesMax, 't');
  const CreateReply made = nfs->MakeSymlink(root, "s", text, {}, kUser);
  ASSERT_TRUE(made.handle.has_value());
  EXPECT_EQ(nfs->ReadLink(*made.handle, kUser).target, text);
}

// nfstime3 counts 32 bits of seconds from 1970 on.
TEST_F(Nfs3Test, TimesThatTheProtocolCannotHoldAreNotSent) {
  constexpr int64_t kLastSecond = 0xffff'ffff;
  const auto set = [&](const Time& time, bool atime) {
    SetAttributes attributes;
    (atime ? attributes.atime : attributes.mtime) = SetTime{time};
    return attributes;
  };
  server.Put("f", {});
  const FileHandle file = nfs->Lookup(root, "f", kUser).handle;
  for (const bool atime : {false, true}) {
    for (const Time& time : {Time{-1, 0}, Time{kLastSecond + 1, 0}, Time{0, 1'000'000'000}}) {
      SCOPED_TRACE(std::to_string(time.seconds) + "." + std::to_string(time.nanoseconds));
      const SetAttributes attributes = set(time, atime);
      const uint64_t before = nfs->rpcs_sent();
      for (const std::errc error :
           {nfs->SetAttributesOf(file, attributes, kUser).error,
            nfs->Create(root, "g", CreateMode::kGuarded, attributes, kUser).error,
            nfs->MakeDirectory(root, "d", attributes, kUser).error,
            nfs->MakeSymlink(root, "s", "t", attributes, kUser).error}) {
        EXPECT_EQ(error, std::errc::invalid_argument);
      }
      EXPECT_EQ(nfs->rpcs_sent(), before);
    }
    for (const Time& time : {Time{0, 0}, Time{kLastSecond, 999'999'999}}) {
      EXPECT_EQ(nfs->SetAttributesOf(file, set(time, atime), kUser).error, kOk);
    }
  }
}

TEST(Nfs3, CallsSpreadOverAllConnections) {
  const MountedNfs3 mount({.nconnect = 3});
  for (int i = 0; i < 6; ++i) (void)mount.nfs->GetAttributes(mount.root, kUser);
  EXPECT_EQ(static_cast<Nfs3&>(*mount.nfs).transport_stats().connections_opened, 3u);
}

TEST(Nfs3, ShutdownEndsACallInFlight) {
  std::counting_semaphore<> seen(0);
  FakeServer server(OnNfsCall([&](const FakeCall&) {
    seen.release();
    return kSilence;
  }));
  const auto nfs = Mount3(server.port());
  const FileHandle root = HandleFrom("root");
  std::errc error{};
  {
    std::jthread caller([&] { error = nfs->GetAttributes(root, kUser).error; });
    seen.acquire();
    nfs->Shutdown();
  }
  EXPECT_EQ(error, std::errc::operation_canceled);
  EXPECT_EQ(nfs->Remove(root, "f", {}, kUser).error, std::errc::operation_canceled);
}

// Expects that Connect3() fails with `error` and a message that holds `part`.
void ExpectFailure(const std::expected<std::unique_ptr<Protocol>, ConnectError>& nfs,
                   std::errc error, const std::string& part) {
  ASSERT_FALSE(nfs.has_value());
  EXPECT_EQ(nfs.error().error, error) << nfs.error().message;
  EXPECT_NE(nfs.error().message.find(part), std::string::npos) << nfs.error().message;
}

TEST(Nfs3Connect, ARefusedPortIsNamed) {
  FakeNfs3 server;
  const uint16_t unused = UnusedPort();
  const auto nfs = Connect3(unused, server.port());
  ExpectFailure(nfs, std::errc::connection_refused, std::to_string(unused));
  ExpectFailure(nfs, std::errc::connection_refused, "127.0.0.1");
  ExpectFailure(Connect3(server.port(), unused), std::errc::connection_refused, "");
}

TEST(Nfs3Connect, AnUnknownHostIsNamed) {
  ExpectFailure(Nfs3::ConnectNfs3({"no-such-host.invalid", "/export", 1, 1, 3}, {}),
                std::errc::host_unreachable, "no-such-host.invalid");
}

TEST(Nfs3Connect, AServerThatIsNotNfsIsReported) {
  const std::pair<FakeAnswer, std::errc> rows[] = {
      {kHttpAnswer, std::errc::connection_reset},
      {kHangUp, std::errc::connection_reset},
      {kProgramUnavailable, std::errc::protocol_not_supported}};
  for (const auto& [answer, error] : rows) {
    FakeServer other([&](const FakeCall&) { return answer; });
    ExpectFailure(Connect3(other.port(), other.port()), error, "check the port");
  }
}

TEST(Nfs3Connect, ASilentServerTimesOut) {
  FakeServer mute([](const FakeCall&) { return kSilence; });
  ExpectFailure(Connect3(mute.port(), mute.port(), {.mount_timeout_ms = 100}), std::errc::timed_out,
                "");
}

// On a hard mount, whose other calls wait for ever.
TEST(Nfs3Connect, AServerThatAnswersMntAndNothingElseTimesOut) {
  for (const int operation : {NFS3_GETATTR, NFS3_FSINFO, NFS3_PATHCONF}) {
    for (const FakeFault& fault :
         {FakeFault{.status = NFS3ERR_JUKEBOX}, FakeFault{FakeFault::Kind::kLoseReply}}) {
      FakeNfs3 server;
      server.Inject(operation, fault, 1'000'000);
      const auto nfs = Mount3(server.port(), {.mount_timeout_ms = 200});
      EXPECT_EQ(nfs->GetRoot(kUser).error, std::errc::timed_out) << operation;
      EXPECT_GE(server.calls(operation), 1) << operation;
    }
  }
}

// WIRE-18.
TEST(Nfs3Connect, FailureOfMountNamesTheExport) {
  const auto mounted = [](const std::string& handle, uint32_t flavor) {
    return Xdr().U32(0).Bytes(handle).U32(1, flavor);
  };
  const std::pair<Xdr, std::errc> rows[] = {{Xdr().U32(2), std::errc::no_such_file_or_directory},
                                            {Xdr().U32(13), std::errc::permission_denied},
                                            {Xdr().U32(1), std::errc::permission_denied},
                                            {Xdr().U32(20), std::errc::not_a_directory},
                                            {Xdr().U32(10006), std::errc::io_error},
                                            {mounted("", 1), std::errc::io_error},
                                            {mounted(std::string(65, 'x'), 1), std::errc::io_error},
                                            {mounted("root", 6), std::errc::permission_denied}};
  for (const auto& [answer, error] : rows) {
    SCOPED_TRACE(XdrReader(answer).U32());
    FakeServer server(
        [&](const FakeCall& call) { return call.procedure == 0 ? FakeAnswer{} : Reply(answer); });
    ExpectFailure(Connect3(server.port(), server.port()), error, "/export");
  }
}

TEST(Nfs3Connect, AnExportPathHasAtMost1024Bytes) {
  const std::string longest(MNTPATHLEN, 'e');
  std::string sent;
  {
    FakeServer server([&](const FakeCall& call) {
      if (call.program != MOUNT_PROGRAM || call.procedure != MOUNT3_MNT) return FakeAnswer{};
      sent = XdrReader(call.arguments).Bytes();
      return MountReply("root");
    });
    const auto connect = [&](const std::string& path) {
      return Nfs3::ConnectNfs3({"127.0.0.1", path, server.port(), server.port(), 3}, {});
    };
    EXPECT_TRUE(connect(longest).has_value());
    ExpectFailure(connect(longest + "e"), std::errc::filename_too_long, "path too long");
  }
  EXPECT_EQ(sent, longest);
}

}  // namespace
}  // namespace nfswalk::protocol
