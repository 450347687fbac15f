// Unmounts a real server's export under load: while the server replies, while it is silent, and
// while its process is stopped.

#include <gtest/gtest.h>

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "nfsclient/client.h"
#include "tests/fixtures/faulty_protocol.h"
#include "tests/fixtures/mounted_export.h"
#include "tests/stress/hang_watchdog.h"
#include "tests/stress/mount_load.h"

namespace nfswalk {
namespace {

using fixtures::FaultyProtocol;

constexpr uint64_t kUnmounts = 20;
constexpr std::errc kShutDown = std::errc::operation_canceled;

class ServerShutdown : public fixtures::VersionedExport {
 protected:
  struct Mounted {
    std::shared_ptr<Client> client;
    FaultyProtocol* protocol = nullptr;  // the client's
  };

  void SetUp() override {
    VersionedExport::SetUp();
    if (IsSkipped()) return;
    MakeDirectory(MountLoad::kStable);
    for (int i = 0; i < MountLoad::kStableFiles; ++i) {
      MakeFile(std::string(MountLoad::kStable) + "/f" + std::to_string(i));
    }
    MakeDirectory(MountLoad::kWork);
    MakeLink(MountLoad::kStable, MountLoad::kLink);
  }

  Mounted MountGated() const {
    fixtures::NfsServer::NetworkScope scope(server());
    const auto options = ParseMountUrl(
        server().Url("nconnect=2&dentries=16&inodes=16&access_entries=16", version()));
    Mounted mounted;
    auto client = fixtures::MountWithFaults(*options, {}, &mounted.protocol);
    if (client) mounted.client = std::move(*client);
    return mounted;
  }

  // Mounts, and unmounts under load after `trouble(mounted)` has run.
  template <class Trouble>
  void Unmount(uint64_t i, Trouble trouble) {
    Mounted mounted = MountGated();
    ASSERT_NE(mounted.client, nullptr);
    MountLoad load(mounted.client, Path(""), i, tally_);
    load.AwaitWork();
    trouble(mounted);
    HangWatchdog watchdog("unmount " + std::to_string(i));
    load.Stop();
    mounted.protocol->Shutdown();
    mounted.client.reset();
    load.AwaitLastCalls();
  }

  LoadTally tally_;
};
INSTANTIATE_TEST_SUITE_P(Versions, ServerShutdown, fixtures::AllVersions(),
                         fixtures::VersionTestName);

TEST_P(ServerShutdown, TheLastOwnerUnmountsUnderLoad) {
  for (uint64_t i = 0; i < kUnmounts; ++i) {
    Unmount(i, [i](Mounted& mounted) {
      if (i % 2 == 0) return;
      mounted.protocol->GoSilent();
      mounted.protocol->AwaitPending(1);
    });
  }
  EXPECT_EQ(tally_.wrong, 0u);
  EXPECT_GE(tally_.canceled, kUnmounts / 2);
  EXPECT_GE(tally_.files_left_open, 1u);
}

TEST_P(ServerShutdown, StoppedServerCancelsCallsInFlight) {
  for (uint64_t i = 0; i < 3; ++i) {
    std::thread asking;
    std::errc answer{};
    Unmount(i, [&](Mounted& mounted) {
      server().Hang();
      asking = std::thread([&answer, client = mounted.client, path = Path("never_asked")] {
        const auto found = client->Stat(path, Credential(0, 0));
        if (!found) answer = found.error();
      });
      mounted.protocol->AwaitPending(1);
    });
    asking.join();
    EXPECT_EQ(answer, kShutDown);
    server().Resume();
  }
  EXPECT_EQ(tally_.wrong, 0u);
}

// Client::Shutdown() of a hard mount whose server does not reply.
class ClientShutdown : public ServerShutdown {
 protected:
  void SetUp() override {
    ServerShutdown::SetUp();
    if (IsSkipped()) return;
    calls_ = MountLoad::CallsOfEveryKind(Path(""), root_);
    client_ = Mount("actimeo=600&hard");
    ASSERT_NE(client_, nullptr);
    file_ = std::move(*client_->Open(Path("stable/f0"), kMayRead | kMayWrite, root_));
    node_ = std::move(*client_->Resolve(Path("work"), root_));
  }

  std::vector<ClientCall> calls_;
  std::unique_ptr<Client> client_;
  std::unique_ptr<File> file_;
  std::unique_ptr<Node> node_;
};
INSTANTIATE_TEST_SUITE_P(Versions, ClientShutdown, fixtures::AllVersions(),
                         fixtures::VersionTestName);

// WIRE-6.
TEST_P(ClientShutdown, CancelsCallsInFlight) {
  client_->InvalidateCaches();  // each asks the server
  server().Hang();
  std::vector<std::errc> answers(calls_.size());
  std::vector<std::thread> threads;
  for (size_t i = 0; i < calls_.size(); ++i) {
    const uint64_t sent = client_->stats().rpcs;
    threads.emplace_back([&, i] { answers[i] = calls_[i](*client_, *file_, *node_); });
    // Some wait for a connection, or a client id, that the first one has requested.
    if (i == 0) {
      while (client_->stats().rpcs == sent) std::this_thread::yield();
    }
  }
  std::vector<std::thread> closers;
  for (int i = 0; i < 3; ++i) closers.emplace_back([&] { client_->Shutdown(); });
  for (auto& closer : closers) closer.join();
  for (auto& thread : threads) thread.join();
  for (size_t i = 0; i < calls_.size(); ++i) EXPECT_EQ(answers[i], kShutDown) << "call " << i;
  server().Resume();
}

TEST_P(ClientShutdown, LaterCallsAreCanceledEvenOnCacheHits) {
  const std::string cached = Path("stable/f0");
  ASSERT_TRUE(client_->Stat(cached, root_).has_value());
  client_->Shutdown();
  const Stats before = client_->stats();
  EXPECT_EQ(client_->Stat(cached, root_).error(), kShutDown);
  EXPECT_EQ(client_->Stat(cached, root_, {.cached = true}).error(), kShutDown);
  EXPECT_EQ(client_->Open(cached, kMayRead, root_, {.cached = true}).error(), kShutDown);
  EXPECT_EQ(node_->Stat("", root_).error(), kShutDown);
  for (const auto& call : calls_) EXPECT_EQ(call(*client_, *file_, *node_), kShutDown);
  client_->Shutdown();
  EXPECT_EQ(client_->stats().rpcs, before.rpcs);
  client_->InvalidateCaches();
  client_->DropCaches();
}

}  // namespace
}  // namespace nfswalk
