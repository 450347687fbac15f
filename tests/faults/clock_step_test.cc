// Steps of the clocks: the wall clock has no effect, the monotonic one expires every entry.
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <chrono>
#include <cstddef>
#include <filesystem>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <thread>
#include <utility>

#include "rcu/coarse_clock.h"
#include "rcu/defer.h"
#include "tests/faults/clock_steps.h"
#include "tests/fixtures/memory_server.h"
#include "tests/fixtures/mounted_export.h"
#include "tests/fixtures/protocol_session.h"

namespace nfswalk::faults {
namespace {

using fixtures::MemoryServer;
using std::chrono::hours;

constexpr hours kYear{365 * 24};

class ClockStep : public fixtures::VersionedExport {
 protected:
  static constexpr int kFiles = 20;

  void SetUp() override {
    VersionedExport::SetUp();
    if (IsSkipped()) return;
    MakeDirectory("tree");
    for (int i = 0; i < kFiles; ++i) {
      MakeFile(File(i), std::string(static_cast<size_t>(i), 'x'));
      chmod(Backing(File(i)).c_str(), 0644);
    }
    MakeLink("tree/0", "link");
  }
  void TearDown() override {
    RestoreClocks();
    VersionedExport::TearDown();
  }

  static std::string File(int number) { return "tree/" + std::to_string(number); }

  // Looks at every file; returns the number of RPCs.
  uint64_t LookAtAll(Client& client) {
    const uint64_t before = client.stats().rpcs;
    for (int i = 0; i < kFiles; ++i) {
      const auto found = client.Stat(Path(File(i)), user_);
      EXPECT_TRUE(found && found->size_bytes == sizes_ + static_cast<uint64_t>(i)) << i;
      EXPECT_EQ(client.Access(Path(File(i)), kMayRead, user_), readable_) << i;
    }
    EXPECT_EQ(ReadLink(client, Path("link"), user_), link_);
    EXPECT_EQ(client.Access(Path("nothing"), 0, user_), std::errc::no_such_file_or_directory);
    return client.stats().rpcs - before;
  }
  // Makes changes, a listing and data transfers; returns the number of RPCs. Needs no timeout to
  // expire.
  uint64_t ChangeThings(Client& client) {
    const uint64_t before = client.stats().rpcs;
    EXPECT_TRUE(client.Create(Path("new"), 0644, true, root_));
    {
      auto file = client.Open(Path("new"), kMayRead | kMayWrite, root_);
      EXPECT_TRUE(file && (*file)->PWrite(std::as_bytes(std::span("text", 4)), 0) == 4u);
    }
    EXPECT_EQ(client.Rename(Path("new"), Path("newer"), root_), std::errc{});
    int entries = 0;
    EXPECT_EQ(client.ReadDir(Path(""), root_, [&](const auto&) { return ++entries; }), std::errc{});
    EXPECT_EQ(entries, 3);
    EXPECT_EQ(client.Unlink(Path("newer"), root_), std::errc{});
    return client.stats().rpcs - before;
  }
  // Changes files behind the client, as another client does.
  void ChangeEverythingOnTheServer() {
    for (int i = 0; i < kFiles; ++i) {
      MakeFile(File(i), std::string(static_cast<size_t>(i) + 100, 'y'));
      chmod(Backing(File(i)).c_str(), 0600);
    }
    std::filesystem::remove(Backing("link"));
    MakeLink("elsewhere", "link");
    sizes_ = 100;
    readable_ = std::errc::permission_denied;
    link_ = "elsewhere";
  }

  const Credential user_{1000, 100};
  // The results that LookAtAll() expects.
  uint64_t sizes_ = 0;
  std::errc readable_{};
  std::string link_ = "tree/0";
};

INSTANTIATE_TEST_SUITE_P(Versions, ClockStep, fixtures::AllVersions(), fixtures::VersionTestName);

TEST_P(ClockStep, AYearOnTheWallClockHasNoEffect) {
  const auto client = Mount("");
  ASSERT_NE(client, nullptr);
  ChangeThings(*client);  // the first open of version 4 needs more RPCs
  const uint64_t usual = ChangeThings(*client);
  for (const hours step : {kYear, -2 * kYear, kYear}) {
    LookAtAll(*client);
    const Stats before = client->stats();
    const uint64_t readings = ClockReadings();
    StepRealtime(step);
    EXPECT_EQ(LookAtAll(*client), 0u) << "after " << step.count() << " hours";
    EXPECT_GT(ClockReadings(), readings) << "the client does not ask the clock that we moved";
    EXPECT_EQ(client->stats().credentials, before.credentials);
    EXPECT_EQ(client->stats().access_entries, before.access_entries);
    EXPECT_EQ(ChangeThings(*client), usual) << "a call was repeated";
  }
}

TEST_P(ClockStep, AYearLaterEverythingIsRevalidated) {
  const auto client = Mount("");
  ASSERT_NE(client, nullptr);
  LookAtAll(*client);
  ASSERT_EQ(LookAtAll(*client), 0u);
  ChangeThings(*client);
  const uint64_t usual = ChangeThings(*client);
  for (uint32_t uid = 5000; uid < 5010; ++uid) {
    EXPECT_TRUE(client->Stat(Path("tree"), {uid, uid}).has_value());
  }
  client->DropCaches();  // drops access entries too: the credentials become unused
  rcu::Barrier();
  LookAtAll(*client);
  ChangeEverythingOnTheServer();
  StepMonotonic(kYear);
  EXPECT_GT(LookAtAll(*client), static_cast<uint64_t>(kFiles));
  EXPECT_EQ(LookAtAll(*client), 0u);
  ChangeThings(*client);  // revalidates root's rights, too
  EXPECT_EQ(ChangeThings(*client), usual) << "a call was repeated";
  EXPECT_GE(client->stats().credentials, 10u);
  EXPECT_TRUE(client->Stat(Path("tree"), {6000, 6000}).has_value());
  EXPECT_LE(client->stats().credentials, 3u) << "a new one sends those away that were idle";
}

// A monotonic clock does not go back; if it did, nothing would stay fresh for ever (ATTR-1).
TEST_P(ClockStep, AnHourEarlierEverythingIsRevalidatedOnce) {
  const auto client = Mount("");
  ASSERT_NE(client, nullptr);
  LookAtAll(*client);
  ASSERT_EQ(LookAtAll(*client), 0u);
  ChangeThings(*client);
  const uint64_t usual = ChangeThings(*client);
  LookAtAll(*client);
  ChangeEverythingOnTheServer();
  StepMonotonic(-hours(1));
  EXPECT_GT(LookAtAll(*client), static_cast<uint64_t>(kFiles));
  EXPECT_EQ(LookAtAll(*client), 0u);
  ChangeThings(*client);  // revalidates root's rights, too
  EXPECT_EQ(ChangeThings(*client), usual) << "a call was repeated";
}

// Deadlines of calls are monotonic: a call in flight is overdue after the step.
class ClockLeapInFlight : public protocol::ProtocolSession {
 protected:
  void TearDown() override { RestoreClocks(); }
};

INSTANTIATE_TEST_SUITE_P(Versions, ClockLeapInFlight, fixtures::AllVersions(),
                         fixtures::VersionTestName);

TEST_P(ClockLeapInFlight, RetransmitsEachCallOnceOnAHardMount) {
  const auto nfs = MustConnect({.hard = true});
  ASSERT_NE(nfs, nullptr);
  server().Hang();
  const uint64_t before = nfs->rpcs_sent();
  const auto ask = [&] {
    EXPECT_EQ(nfs->GetAttributes(root(), protocol::kRoot).error, std::errc{});
  };
  std::jthread overdue(ask);
  while (nfs->rpcs_sent() == before) std::this_thread::yield();
  StepMonotonic(kYear);
  std::jthread later(ask);  // the driver looks at the clock at least once a second
  while (nfs->transport_stats().retries == 0) std::this_thread::yield();
  server().Resume();
  overdue.join();
  later.join();
  // The silent connection is replaced, and `later` with it if it was in flight there.
  EXPECT_LE(nfs->transport_stats().retries, 2u);
  EXPECT_EQ(nfs->rpcs_sent() - before, 2u + nfs->transport_stats().retries) << "two calls, one or both again";
}

TEST_P(ClockLeapInFlight, TimesOutACallOnASoftMountAndTheNextSucceeds) {
  const auto nfs = MustConnect({.hard = false});
  ASSERT_NE(nfs, nullptr);
  server().Hang();
  const uint64_t before = nfs->rpcs_sent();
  std::jthread overdue(
      [&] { EXPECT_EQ(nfs->GetAttributes(root(), protocol::kRoot).error, std::errc::timed_out); });
  while (nfs->rpcs_sent() == before) std::this_thread::yield();
  StepMonotonic(kYear);
  std::jthread later(
      [&] { EXPECT_EQ(nfs->GetAttributes(root(), protocol::kRoot).error, std::errc{}); });
  overdue.join();
  server().Resume();
}

// Lifetimes with a frozen clock, to the nanosecond, in every walk mode.
class LifetimeBoundary : public testing::TestWithParam<WalkMode> {
 protected:
  static constexpr uint32_t kLifetime = 10;
  static constexpr uint64_t kSecond = 1'000'000'000;

  // Freezes the clock at start_ns_.
  void Mount(uint32_t shortest_s, uint32_t longest_s) {
    auto server = std::make_unique<MemoryServer>();
    server->Add(MemoryServer::kRoot, "file", protocol::FileType::kRegular);
    server->Add(MemoryServer::kRoot, "link", protocol::FileType::kSymlink, "file");
    MountOptions options;
    options.acregmin_s = options.acdirmin_s = shortest_s;
    options.acregmax_s = options.acdirmax_s = longest_s;
    options.walk = GetParam();
    FreezeCoarse(start_ns_);
    auto client = Client::MountOver(std::move(server), options);
    ASSERT_TRUE(client.has_value());
    client_ = std::move(*client);
  }
  void TearDown() override { RestoreClocks(); }

  uint64_t RpcsOf(const std::function<void()>& look) {
    const uint64_t before = client_->stats().rpcs;
    look();
    return client_->stats().rpcs - before;
  }
  // Expects cache hits exactly from the begin of the lifetime to a nanosecond before its end.
  void ExpectLifetime(const std::function<void()>& look) {
    Mount(kLifetime, kLifetime);
    const uint64_t lifetime_ns = kLifetime * kSecond;
    for (const uint64_t expired_at : {start_ns_ + lifetime_ns, start_ns_ + 5 * lifetime_ns - 1}) {
      FreezeCoarse(start_ns_);
      client_->InvalidateCaches();
      EXPECT_GT(RpcsOf(look), 0u);
      FreezeCoarse(start_ns_ + lifetime_ns - 1);
      EXPECT_EQ(RpcsOf(look), 0u) << "a nanosecond before the end";
      FreezeCoarse(expired_at);
      EXPECT_GT(RpcsOf(look), 0u) << "at the end";
      EXPECT_EQ(RpcsOf(look), 0u);
      FreezeCoarse(expired_at - 1);
      EXPECT_GT(RpcsOf(look), 0u) << "before the beginning";
      EXPECT_EQ(RpcsOf(look), 0u);
    }
  }

  const uint64_t start_ns_ = rcu::CoarseNowNs();
  const Credential user_{1000, 100};
  std::unique_ptr<Client> client_;
};

INSTANTIATE_TEST_SUITE_P(Modes, LifetimeBoundary,
                         testing::Values(WalkMode::kRef, WalkMode::kRcuLocked, WalkMode::kRcuPeek,
                                         WalkMode::kRcuSearch),
                         [](const auto& test) {
                           std::string name(WalkModeName(test.param));
                           std::erase(name, '-');
                           return name;
                         });

TEST_P(LifetimeBoundary, AttributeLifetimeIsHalfOpen) {
  ExpectLifetime([&] { EXPECT_TRUE(client_->Stat("file", user_).has_value()); });
}

// A stat of the root fetches attributes only.
TEST_P(LifetimeBoundary, RootAttributeLifetimeIsHalfOpen) {
  ExpectLifetime([&] { EXPECT_TRUE(client_->Stat("/", user_).has_value()); });
}

// ATTR-3.
TEST_P(LifetimeBoundary, DoublesUpToTheLongestWhileNothingChanges) {
  Mount(3, kLifetime);
  const auto look = [&] { EXPECT_TRUE(client_->Stat("file", user_).has_value()); };
  look();
  uint64_t confirmed_at_s = 0;
  for (const uint64_t lifetime_s : {3u, 6u, kLifetime, kLifetime}) {
    const uint64_t end_ns = start_ns_ + (confirmed_at_s + lifetime_s) * kSecond;
    FreezeCoarse(end_ns - 1);
    EXPECT_EQ(RpcsOf(look), 0u) << lifetime_s;
    FreezeCoarse(end_ns);
    EXPECT_GT(RpcsOf(look), 0u) << lifetime_s;
    confirmed_at_s += lifetime_s;
  }
}

// ACCESS-6.
TEST_P(LifetimeBoundary, RightsExpireThoughAttributesLiveOn) {
  constexpr uint64_t kRightsLifetime = 3600;
  Mount(kLifetime, kLifetime);
  const auto look = [&] { EXPECT_EQ(client_->Access("file", kMayRead, user_), std::errc{}); };
  look();
  FreezeCoarse(start_ns_ + (kRightsLifetime - kLifetime / 2) * kSecond);
  EXPECT_GT(RpcsOf(look), 0u) << "for the attributes";
  FreezeCoarse(start_ns_ + kRightsLifetime * kSecond - 1);
  EXPECT_EQ(RpcsOf(look), 0u);
  FreezeCoarse(start_ns_ + kRightsLifetime * kSecond);
  EXPECT_GT(RpcsOf(look), 0u);
}

TEST_P(LifetimeBoundary, RightsLifetimeIsHalfOpen) {
  ExpectLifetime([&] { EXPECT_EQ(client_->Access("file", kMayRead, user_), std::errc{}); });
}

TEST_P(LifetimeBoundary, LinkTextLifetimeIsHalfOpen) {
  ExpectLifetime([&] {
    char text[8];
    EXPECT_EQ(client_->ReadLink("link", text, user_), 4u);
  });
}

TEST_P(LifetimeBoundary, NegativeNameLifetimeIsHalfOpen) {
  ExpectLifetime([&] {
    EXPECT_EQ(client_->Access("nothing", 0, user_), std::errc::no_such_file_or_directory);
  });
}

}  // namespace
}  // namespace nfswalk::faults
