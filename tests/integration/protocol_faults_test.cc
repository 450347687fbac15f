// A real server that is killed, stopped and restarted, and servers that are not the expected one.
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "tests/fixtures/protocol_session.h"

namespace nfswalk::protocol {
namespace {

using ProtocolFaults = ProtocolSession;

INSTANTIATE_TEST_SUITE_P(Versions, ProtocolFaults, fixtures::AllVersions(),
                         fixtures::VersionTestName);

const Credential kUser(1234, 1234);
constexpr TransportOptions kSoft{
    .nconnect = 1, .hard = false, .timeo_ds = 2, .retrans = 1, .mount_timeout_ms = 10'000};

// Creates, renames and removes every name exactly once, and checks each call. Returns the errors.
int ErrorsOfOneWorker(Protocol& nfs, const FileHandle& root, int worker,
                      const std::atomic<bool>& stop, std::atomic<int>& rounds) {
  int errors = 0;
  const auto check = [&](const char* call, std::errc error) {
    if (error == kOk) return;
    ++errors;
    ADD_FAILURE() << call << ": " << std::make_error_code(error).message();
  };
  for (int i = 0; !stop; ++i) {
    const std::string name = std::to_string(worker) + "." + std::to_string(i);
    const std::string moved = name + ".moved";
    // A server killed between creating the file and storing the verifier cannot recognise the
    // retry: the exclusive create returns EEXIST. The file exists either way.
    const std::errc created =
        nfs.Create(root, name, CreateMode::kGuarded, {.mode = 0600}, kUser).error;
    if (created != std::errc::file_exists) check("Create", created);
    check("Rename", nfs.Rename(root, name, root, moved, kUser).error);
    check("Lookup", nfs.Lookup(root, moved, kUser).error);
    check("Remove", nfs.Remove(root, moved, kUser).error);
    check("MakeDirectory", nfs.MakeDirectory(root, name, {.mode = 0700}, kUser).error);
    check("RemoveDirectory", nfs.RemoveDirectory(root, name, kUser).error);
    check("GetAttributes", nfs.GetAttributes(root, kUser).error);
    ++rounds;
  }
  return errors;
}

TEST_P(ProtocolFaults, AHardMountSurvivesRestartsUnderLoad) {
  constexpr int kWorkers = 4;
  constexpr int kRestarts = 5;
  const auto hard = MustConnect({.nconnect = 2});
  ASSERT_NE(hard, nullptr);
  std::atomic<bool> stop = false;
  std::atomic<int> rounds = 0;
  std::atomic<int> errors = 0;
  {
    std::vector<std::jthread> workers;
    for (int w = 0; w < kWorkers; ++w) {
      workers.emplace_back([&, w] { errors += ErrorsOfOneWorker(*hard, root(), w, stop, rounds); });
    }
    for (int i = 0; i < kRestarts; ++i) {
      // Each kill meets calls in flight: the workers have completed rounds since the last one.
      for (const int before = rounds; rounds < before + 2 * kWorkers;) std::this_thread::yield();
      server().Kill();
      EXPECT_EQ(server().Restart(), "");
    }
    stop = true;
  }
  EXPECT_EQ(errors, 0);
  EXPECT_GE(Retries(*hard), static_cast<uint64_t>(kRestarts));
  const size_t dots = version() == 3 ? 2 : 0;  // version 4 does not list them
  EXPECT_EQ(hard->ReadDir(root(), {}, true, kRoot).entries.size(), dots) << "only . and .. remain";
}

TEST_P(ProtocolFaults, ASoftMountOfAHungServerTimesOutAndRecoversWithIt) {
  const auto soft = MustConnect(kSoft);
  ASSERT_NE(soft, nullptr);
  server().Hang();
  // A signal may take effect after the next answer.
  std::errc first = kOk;
  while (first == kOk) first = soft->GetAttributes(root(), kRoot).error;
  EXPECT_EQ(first, std::errc::timed_out);
  EXPECT_EQ(soft->MakeDirectory(root(), "d", {.mode = 0755}, kRoot).error, std::errc::timed_out);
  server().Resume();
  std::errc error = std::errc::timed_out;
  while (error == std::errc::timed_out) error = soft->GetAttributes(root(), kRoot).error;
  EXPECT_EQ(error, kOk);
}

TEST_P(ProtocolFaults, ASoftMountOfADeadServerTimesOut) {
  const auto soft = MustConnect(kSoft);
  ASSERT_NE(soft, nullptr);
  server().Kill();
  EXPECT_EQ(soft->GetAttributes(root(), kRoot).error, std::errc::timed_out);
  EXPECT_EQ(server().Restart(), "");
}

TEST_P(ProtocolFaults, AHardMountWaitsForAHungServer) {
  server().Hang();
  const uint64_t sent = nfs().rpcs_sent();
  std::atomic<bool> answered = false;
  std::jthread caller([&] {
    EXPECT_EQ(nfs().GetAttributes(root(), kRoot).error, kOk);
    answered = true;
  });
  while (nfs().rpcs_sent() == sent) std::this_thread::yield();
  EXPECT_FALSE(answered);
  server().Resume();
  caller.join();
  EXPECT_TRUE(answered);
}

TEST_P(ProtocolFaults, ShutdownCancelsCallsOfAHungServer) {
  constexpr int kCallers = 8;
  server().Hang();
  const uint64_t sent = nfs().rpcs_sent();
  std::atomic<int> canceled = 0;
  {
    std::vector<std::jthread> callers;
    for (int i = 0; i < kCallers; ++i) {
      callers.emplace_back([&, i] {
        const std::errc error =
            i % 2 == 0 ? nfs().GetAttributes(root(), kRoot).error
                       : nfs().MakeDirectory(root(), std::to_string(i), {}, kRoot).error;
        canceled += error == std::errc::operation_canceled;
      });
    }
    while (nfs().rpcs_sent() < sent + kCallers) std::this_thread::yield();
    nfs().Shutdown();
  }
  EXPECT_EQ(canceled, kCallers);
  server().Resume();
}

// WIRE-18.
TEST_P(ProtocolFaults, PortsComeFromThePortmapperWhereNoneAreGiven) {
  ServerAddress address = Address();
  address.nfs_port = address.mount_port = 0;
  auto connected = Connect(address, {});
  ASSERT_TRUE(connected.has_value()) << connected.error().message;
  EXPECT_EQ((*connected)->GetRoot(kRoot).handle, root());
}

TEST_P(ProtocolFaults, AMountThatFailsSaysWhy) {
  ServerAddress no_export = Address(), refused = Address(), other_program = Address();
  no_export.export_path = "/no/such/export";
  refused.nfs_port = 1;
  other_program.nfs_port = 111;
  const struct {
    ServerAddress address;
    std::errc error;
    const char* named;
  } rows[] = {
      // nfs-ganesha's MOUNT does not reveal which exports exist; its pseudo file system does.
      {no_export,
       version() == 3 ? std::errc::permission_denied : std::errc::no_such_file_or_directory,
       "/no/such/export"},
      {refused, std::errc::connection_refused, "port 1:"},
      {other_program, std::errc::protocol_not_supported, ""},
  };
  for (const auto& [address, error, named] : rows) {
    const auto connected = Connect(address, {});
    ASSERT_FALSE(connected.has_value()) << named;
    EXPECT_EQ(connected.error().error, error) << connected.error().message;
    EXPECT_NE(connected.error().message.find(named), std::string::npos)
        << connected.error().message;
  }
}

TEST_P(ProtocolFaults, AMountOfAHungServerTimesOut) {
  server().Hang();
  const auto connected = Connect({.mount_timeout_ms = 200});
  ASSERT_FALSE(connected.has_value());
  EXPECT_EQ(connected.error().error, std::errc::timed_out) << connected.error().message;
  server().Resume();
}

}  // namespace
}  // namespace nfswalk::protocol
