#include "nfsclient/protocol/nfs3.h"

#include <gtest/gtest.h>

#include <memory>
#include <semaphore>
#include <string>
#include <thread>

#include "tests/fixtures/fake_server.h"
#include "tests/fixtures/fake_server_export.h"

namespace nfswalk::protocol {
namespace {

using fixtures::FakeAnswer;
using fixtures::FakeCall;
using fixtures::FakeExport;
using fixtures::FakeServer;
using fixtures::Nfs3Procedure;
using fixtures::Xdr;
using Fault = FakeExport::Fault;

constexpr uint32_t kMountProgram = 100005;
const Credential kUser(1000, 100);

std::expected<std::unique_ptr<Protocol>, ConnectError> Connect(uint16_t nfs_port,
                                                               uint16_t mount_port,
                                                               TransportOptions options = {}) {
  return Nfs3::ConnectNfs3({"127.0.0.1", "/export", nfs_port, mount_port, 3}, options);
}

FileHandle Handle(std::string_view bytes) {
  return FileHandle(std::span(reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size()));
}

// Answers MOUNT and NULL; passes all other NFS calls to `on_call`.
FakeServer::Handler Mountable(FakeServer::Handler on_call) {
  return [on_call = std::move(on_call)](const FakeCall& call) {
    if (call.procedure == 0) return FakeAnswer{};
    if (call.program != kMountProgram) return on_call(call);
    return FakeAnswer{FakeAnswer::Kind::kReply, Xdr().U32(0).Bytes("root").U32(1).U32(1).str(), 0};
  };
}

FakeAnswer MountAnswer(uint32_t status, std::string_view handle, uint32_t flavor) {
  Xdr xdr;
  xdr.U32(status);
  if (status == 0) xdr.Bytes(handle).U32(1).U32(flavor);
  return {FakeAnswer::Kind::kReply, xdr.str(), 0};
}

// WIRE-4.
TEST(Nfs3, JukeboxIsRetriedAndNotReported) {
  FakeExport server;
  server.Put("f", {});
  const auto nfs = std::move(Connect(server.port(), server.port()).value());
  server.Inject(Nfs3Procedure::kLookup, Fault::kJukebox);
  EXPECT_EQ(nfs->Lookup(Handle("root"), "f", kUser).error, kOk);
  EXPECT_EQ(server.calls(Nfs3Procedure::kLookup), 2);
  server.Inject(Nfs3Procedure::kRemove, Fault::kJukebox);
  EXPECT_EQ(nfs->Remove(Handle("root"), "f", kUser).error, kOk) << "non-idempotent calls too";
}

TEST(Nfs3, ASoftMountTimesOutOnJukebox) {
  FakeExport server;
  const auto nfs = std::move(
      Connect(server.port(), server.port(), {.hard = false, .timeo_ds = 1, .retrans = 1}).value());
  server.Inject(Nfs3Procedure::kGetAttributes, Fault::kJukebox, 1'000'000);
  EXPECT_EQ(nfs->GetAttributes(Handle("root"), kUser).error, std::errc::timed_out);
}

// WIRE-11.
TEST(Nfs3, ReaddirplusFallsBackToReaddirForGoodWhereItIsNotSupported) {
  FakeExport server;
  server.Put("f", {});
  const auto nfs = std::move(Connect(server.port(), server.port()).value());
  server.Inject(Nfs3Procedure::kReadDirPlus, Fault::kNotSupported);
  for (int i = 0; i < 2; ++i) {
    const ReadDirReply reply = nfs->ReadDir(Handle("root"), {}, true, kUser);
    EXPECT_EQ(reply.error, kOk);
    ASSERT_EQ(reply.entries.size(), 1u);
    EXPECT_FALSE(reply.entries[0].handle.has_value());
  }
  EXPECT_EQ(server.calls(Nfs3Procedure::kReadDirPlus), 1);
}

TEST(Nfs3, ReaddirplusFallsBackToReaddirOnceWhereAnEntryIsTooLarge) {
  FakeExport server;
  server.Put("f", {});
  const auto nfs = std::move(Connect(server.port(), server.port()).value());
  server.Inject(Nfs3Procedure::kReadDirPlus, Fault::kTooSmall);
  EXPECT_EQ(nfs->ReadDir(Handle("root"), {}, true, kUser).error, kOk);
  EXPECT_TRUE(nfs->ReadDir(Handle("root"), {}, true, kUser).entries.at(0).handle.has_value());
}

TEST(Nfs3, ABadNameOrHandleIsNotSent) {
  FakeExport server;
  const auto nfs = std::move(Connect(server.port(), server.port()).value());
  const uint64_t before = nfs->rpcs_sent();
  const FileHandle root = Handle("root");
  const std::string long_name(256, 'x');
  constexpr std::errc kTooLong = std::errc::filename_too_long;
  EXPECT_EQ(nfs->Lookup(root, long_name, kUser).error, kTooLong);
  EXPECT_EQ(nfs->Create(root, long_name, CreateMode::kGuarded, {}, kUser).error, kTooLong);
  EXPECT_EQ(nfs->MakeDirectory(root, long_name, {}, kUser).error, kTooLong);
  EXPECT_EQ(nfs->MakeSymlink(root, long_name, "t", {}, kUser).error, kTooLong);
  EXPECT_EQ(nfs->MakeSymlink(root, "s", std::string(4096, 't'), {}, kUser).error, kTooLong);
  EXPECT_EQ(nfs->Link(root, root, long_name, kUser).error, kTooLong);
  EXPECT_EQ(nfs->Rename(root, "a", root, long_name, kUser).error, kTooLong);
  EXPECT_EQ(nfs->Rename(root, long_name, root, "a", kUser).error, kTooLong);
  EXPECT_EQ(nfs->Remove(root, long_name, kUser).error, kTooLong);
  EXPECT_EQ(nfs->RemoveDirectory(root, long_name, kUser).error, kTooLong);
  EXPECT_EQ(nfs->GetAttributes(FileHandle(), kUser).error, kStale);
  EXPECT_EQ(nfs->rpcs_sent(), before);
}

TEST(Nfs3, CallsSpreadOverAllConnections) {
  FakeExport server;
  const auto nfs = std::move(Connect(server.port(), server.port(), {.nconnect = 3}).value());
  for (int i = 0; i < 6; ++i) (void)nfs->GetAttributes(Handle("root"), kUser);
  EXPECT_EQ(static_cast<Nfs3&>(*nfs).connections_opened(), 3u);
}

TEST(Nfs3, ShutdownEndsACallInFlight) {
  std::counting_semaphore<> seen(0);
  FakeServer server(Mountable([&](const FakeCall&) {
    seen.release();
    return FakeAnswer{FakeAnswer::Kind::kSilence, {}, 0};
  }));
  const auto nfs = std::move(Connect(server.port(), server.port()).value());
  std::errc error{};
  {
    std::jthread caller([&] { error = nfs->GetAttributes(Handle("root"), kUser).error; });
    seen.acquire();
    nfs->Shutdown();
  }
  EXPECT_EQ(error, std::errc::operation_canceled);
  EXPECT_EQ(nfs->Remove(Handle("root"), "f", kUser).error, std::errc::operation_canceled);
}

TEST(Nfs3Connect, ARefusedPortIsNamed) {
  FakeExport server;
  const uint16_t unused = fixtures::UnusedPort();
  const auto nfs = Connect(unused, server.port());
  ASSERT_FALSE(nfs.has_value());
  EXPECT_EQ(nfs.error().error, std::errc::connection_refused);
  EXPECT_NE(nfs.error().message.find(std::to_string(unused)), std::string::npos);
  EXPECT_NE(nfs.error().message.find("127.0.0.1"), std::string::npos);
  EXPECT_EQ(Connect(server.port(), unused).error().error, std::errc::connection_refused);
}

TEST(Nfs3Connect, AnUnknownHostIsNamed) {
  const auto nfs = Nfs3::ConnectNfs3({"no-such-host.invalid", "/export", 1, 1, 3}, {});
  ASSERT_FALSE(nfs.has_value());
  EXPECT_EQ(nfs.error().error, std::errc::host_unreachable);
  EXPECT_NE(nfs.error().message.find("no-such-host.invalid"), std::string::npos);
}

TEST(Nfs3Connect, AServerThatIsNotNfsIsReported) {
  FakeServer web([](const FakeCall&) {
    return FakeAnswer{FakeAnswer::Kind::kRaw, "HTTP/1.1 400 Bad Request\r\n\r\n", 0};
  });
  EXPECT_EQ(Connect(web.port(), web.port()).error().error, std::errc::protocol_not_supported);
  FakeServer closes([](const FakeCall&) { return FakeAnswer{FakeAnswer::Kind::kHangUp, {}, 0}; });
  const auto nfs = Connect(closes.port(), closes.port());
  EXPECT_EQ(nfs.error().error, std::errc::protocol_not_supported) << nfs.error().message;
  FakeServer other([](const FakeCall&) { return FakeAnswer{FakeAnswer::Kind::kRefuse, {}, 1}; });
  EXPECT_EQ(Connect(other.port(), other.port()).error().error, std::errc::protocol_not_supported);
}

TEST(Nfs3Connect, ASilentServerTimesOut) {
  FakeServer mute([](const FakeCall&) { return FakeAnswer{FakeAnswer::Kind::kSilence, {}, 0}; });
  const auto nfs = Connect(mute.port(), mute.port(), {.mount_timeout_ms = 100});
  EXPECT_EQ(nfs.error().error, std::errc::timed_out) << nfs.error().message;
}

struct MountCase {
  uint32_t status;
  std::string handle;
  uint32_t flavor;
  std::errc error;
};

class Nfs3Mount : public testing::TestWithParam<MountCase> {};

// WIRE-18.
TEST_P(Nfs3Mount, FailureNamesTheExport) {
  const MountCase& c = GetParam();
  FakeServer server([&](const FakeCall& call) {
    return call.procedure == 0 ? FakeAnswer{} : MountAnswer(c.status, c.handle, c.flavor);
  });
  const auto nfs = Connect(server.port(), server.port());
  ASSERT_FALSE(nfs.has_value());
  EXPECT_EQ(nfs.error().error, c.error);
  EXPECT_NE(nfs.error().message.find("/export"), std::string::npos) << nfs.error().message;
}

INSTANTIATE_TEST_SUITE_P(All, Nfs3Mount,
                         testing::Values(MountCase{2, "", 0, std::errc::no_such_file_or_directory},
                                         MountCase{13, "", 0, std::errc::permission_denied},
                                         MountCase{1, "", 0, std::errc::permission_denied},
                                         MountCase{20, "", 0, std::errc::not_a_directory},
                                         MountCase{10006, "", 0, std::errc::io_error},
                                         MountCase{0, "", 1, std::errc::io_error},
                                         MountCase{0, std::string(65, 'x'), 1, std::errc::io_error},
                                         MountCase{0, "root", 6, std::errc::permission_denied}));

}  // namespace
}  // namespace nfswalk::protocol
