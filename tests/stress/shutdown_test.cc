// Unmounts a mount in use, a thousand times and in every way that client.h allows:
// Protocol::Shutdown() cancels the calls in flight, and the last owner destroys the client. The
// sanitizers find use after free; a hang fails the test.

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "nfsclient/client.h"
#include "rcu/defer.h"
#include "rcu/page_region.h"
#include "rcu/read_guard.h"
#include "tests/fixtures/client_internals.h"
#include "tests/fixtures/faulty_protocol.h"
#include "tests/fixtures/inode_caches.h"
#include "tests/fixtures/memory_server.h"
#include "tests/stress/hang_watchdog.h"
#include "tests/stress/mount_load.h"

namespace nfswalk {
namespace {

using fixtures::FaultyProtocol;
using fixtures::MemoryServer;
using protocol::FileType;

constexpr uint64_t kUnmounts = 1000;
constexpr uint64_t kRunners = 8;

const Credential kMe(0, 0);

struct Mount {
  std::shared_ptr<Client> client;
  FaultyProtocol* protocol;  // the client's
};

// Makes a mount with small caches, which prune all the time. Each `variant` has another inode
// policy and walk mode.
Mount MakeMount(uint64_t variant, const std::function<void()>& on_unmount) {
  auto server = std::make_unique<MemoryServer>();
  const uint64_t stable =
      server->Add(MemoryServer::kRoot, MountLoad::kStable, FileType::kDirectory);
  for (int i = 0; i < MountLoad::kStableFiles; ++i) {
    server->Add(stable, "f" + std::to_string(i), FileType::kRegular);
  }
  server->Add(MemoryServer::kRoot, MountLoad::kWork, FileType::kDirectory);
  server->Add(MemoryServer::kRoot, MountLoad::kLink, FileType::kSymlink, MountLoad::kStable);
  if (variant % 3 == 0) server->AnswerWholePaths();

  static const std::vector<icache::InodePolicy> policies = icache::AllInodePolicies();
  constexpr std::array kModes{WalkMode::kRcuSearch, WalkMode::kRcuPeek, WalkMode::kRcuLocked,
                              WalkMode::kRef};
  MountOptions options;
  options.dentries_max = options.inodes_max = options.access_entries_max = 16;
  options.inode_policy = policies[variant % policies.size()];
  options.walk = kModes[(variant + variant / policies.size()) % kModes.size()];
  auto protocol = std::make_unique<FaultyProtocol>(std::move(server));
  FaultyProtocol* const gate = protocol.get();
  auto client = Client::MountOver(std::move(protocol), options);
  if (!client) {
    ADD_FAILURE() << client.error().message;
    return {nullptr, nullptr};
  }
  return {std::shared_ptr<Client>(client->release(),
                                  [on_unmount](Client* mounted) {
                                    on_unmount();
                                    delete mounted;
                                  }),
          gate};
}

// Runs `unmount(i)` for 0 <= i < `count` on a few threads: an unmount mostly waits.
void Repeat(uint64_t count, const std::function<void(uint64_t i)>& unmount) {
  std::atomic<uint64_t> next{0};
  std::vector<std::thread> runners;
  for (uint64_t r = 0; r < kRunners; ++r) {
    runners.emplace_back([&] {
      for (uint64_t i = next++; i < count; i = next++) unmount(i);
    });
  }
  for (std::thread& runner : runners) runner.join();
}

class Shutdown : public testing::Test {
 protected:
  Shutdown() {
    rcu::Barrier();
    mapped_before_ = rcu::PageRegion::mapped_bytes();
  }
  void TearDown() override {
    EXPECT_EQ(tally_.wrong, 0u);
    rcu::Barrier();
    EXPECT_EQ(rcu::PageRegion::mapped_bytes(), mapped_before_);  // no mount's memory is left
  }

  LoadTally tally_;

 private:
  size_t mapped_before_;
};

// In every other round the server is silent: calls are in flight that only the shutdown ends.
TEST_F(Shutdown, TheLastOwnerUnmountsUnderLoad) {
  std::atomic<uint64_t> unmounted_by_worker{0}, unmounted_by_owner{0};
  Repeat(kUnmounts, [&](uint64_t i) {
    const auto owner = std::this_thread::get_id();
    auto [client, protocol] = MakeMount(i, [&, owner] {
      ++(std::this_thread::get_id() == owner ? unmounted_by_owner : unmounted_by_worker);
    });
    MountLoad load(client, "", i, tally_);
    load.AwaitWork();
    if (i % 2 == 0) {
      protocol->GoSilent();
      protocol->AwaitPending(1);
    }
    HangWatchdog watchdog("unmount " + std::to_string(i));
    if (i % 4 < 2) load.Stop();
    protocol->Shutdown();
    if (i % 4 >= 2) load.Stop();
    if (i % 8 == 7) load.AwaitLastCalls();  // then the owner is the last
    client.reset();
    load.AwaitLastCalls();
  });
  EXPECT_EQ(unmounted_by_worker + unmounted_by_owner, kUnmounts);
  EXPECT_GE(unmounted_by_worker, kUnmounts / 2);
  EXPECT_GE(unmounted_by_owner, kUnmounts / 8);
  EXPECT_GE(tally_.canceled, kUnmounts / 2);
  EXPECT_GE(tally_.files_left_open, kUnmounts / 8);
  EXPECT_GE(tally_.inodes_iterated, kUnmounts);
}

// Without Shutdown(); what was deferred waits for a grace period that cannot end before the unmount
// has begun, and the threads that made calls live on.
TEST_F(Shutdown, RightAfterTheLastCallWithCallbacksPending) {
  struct Marker {
    rcu::DeferHead head;
    bool passed = false;
  };
  Repeat(kUnmounts / 10, [&](uint64_t i) {
    auto [client, protocol] = MakeMount(i, [] {});
    MountLoad load(client, "", i, tally_);
    load.AwaitWork();
    std::atomic<bool> reading{false};
    std::thread reader([&reading, gate = protocol] {
      rcu::ReadGuard guard;
      reading = true;
      reading.notify_all();
      gate->AwaitShutdown();
    });
    reading.wait(false);
    load.Stop();
    load.AwaitLastCalls();
    EXPECT_TRUE(client->Stat("stable/f1", kMe));
    ClientInternals::SuperblockOf(*client).background.Wait();  // listings add names
    const uint64_t dentries = client->stats().dentries;
    client->DropCaches();
    EXPECT_LT(client->stats().dentries, dentries);
    Marker marker;  // deferred after all else
    rcu::Defer(&marker.head,
               [](rcu::DeferHead* head) { reinterpret_cast<Marker*>(head)->passed = true; });
    HangWatchdog watchdog("unmount " + std::to_string(i));
    client.reset();
    EXPECT_TRUE(marker.passed);
    reader.join();
  });
}

TEST_F(Shutdown, OneMountEndsWhileAnotherIsWalked) {
  auto [other, other_protocol] = MakeMount(0, [] {});
  LoadTally others;
  MountLoad walked(other, "", 1, others);
  walked.AwaitWork();
  Repeat(kUnmounts / 10, [&](uint64_t i) {
    auto [client, protocol] = MakeMount(i, [] {});
    MountLoad load(client, "", i, tally_);
    load.AwaitWork();
    HangWatchdog watchdog("unmount " + std::to_string(i));
    load.Stop();
    protocol->Shutdown();
    client.reset();
    load.AwaitLastCalls();
  });
  const uint64_t calls = others.calls;
  EXPECT_TRUE(other->Stat("stable/f1", kMe));
  walked.Stop();
  walked.AwaitLastCalls();
  EXPECT_GT(calls, kUnmounts / 10);
  EXPECT_EQ(others.wrong, 0u);
  EXPECT_EQ(others.canceled, 0u);
}

// One thread a call; some wait for the server, others for them: for a lookup of the same name, or
// for the directory's lock.
TEST_F(Shutdown, CancelsCallsOfEveryKindOnASilentServer) {
  const std::vector<ClientCall> calls = MountLoad::CallsOfEveryKind("", kMe);
  Repeat(kUnmounts / 20, [&](uint64_t i) {
    auto [client, protocol] = MakeMount(i, [] {});
    auto file = client->Open("stable/f0", kMayRead | kMayWrite, kMe);
    auto node = client->Resolve("work", kMe);
    ASSERT_TRUE(file && node);
    client->InvalidateCaches();
    protocol->GoSilent();
    std::atomic<size_t> started{0};
    std::vector<std::thread> threads;
    for (size_t n = 0; n < calls.size(); ++n) {
      threads.emplace_back([&, n, &mounted = *client, &open = **file, &work = **node] {
        ++started;
        started.notify_all();
        EXPECT_EQ(calls[n](mounted, open, work), std::errc::operation_canceled) << "call " << n;
      });
    }
    for (size_t now = started; now < calls.size(); now = started) started.wait(now);
    protocol->AwaitPending(2);  // at least those of the open file
    HangWatchdog watchdog("unmount " + std::to_string(i));
    protocol->Shutdown();
    for (std::thread& thread : threads) thread.join();
    file->reset();
    node->reset();
    client.reset();
  });
}

}  // namespace
}  // namespace nfswalk
