// A directory is listed instead after several lookups in it.
#include "nfsclient/ahead/list_ahead.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <functional>
#include <latch>
#include <map>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "tests/fixtures/client_internals.h"
#include "tests/fixtures/memory_mount.h"

namespace nfswalk {
namespace {

class ListAhead : public MemoryMount {
 protected:
  static constexpr int kFiles = 20;

  void MountAnew() {
    NewServer();
    directory_ = server_->Add(kRoot, "d", FileType::kDirectory);
    for (int i = 0; i < kFiles; ++i) server_->Add(directory_, NameOf(i), FileType::kRegular);
    Mount();
  }
  static std::string NameOf(int i) { return "f" + std::to_string(i); }
  void LookAtAll(ResolveFlags flags = {}) const {
    for (int i = 0; i < kFiles; ++i) EXPECT_TRUE(IsFile(Stat("d/" + NameOf(i), flags)));
  }
  size_t listings() const { return protocol_->Calls("READDIR"); }

  uint64_t directory_ = 0;
};

// NAME-21.
TEST_F(ListAhead, TheFourthNameBringsTheRest) {
  for (const uint64_t bytes : {0, 128 * 1024}) {
    MountAnew();
    server_->Edit(directory_, [&](protocol::Attributes& of) { of.size_bytes = bytes; });
    LookAtAll();
    EXPECT_EQ(listings(), 1u);
    EXPECT_EQ(protocol_->Calls("LOOKUP"), 1u + 4u) << bytes;  // "d", and four in it
  }
}

#ifndef NDEBUG
// NAME-21.
TEST_F(ListAhead, TheLookupThatMakesItDueGoesOnAndTheNextWaitsForTheListing) {
  MountAnew();
  std::latch next_waits(1);
  WhileReplyIsInFlight("READDIR", [&] { next_waits.wait(); });
  for (int i = 0; i < 4; ++i) EXPECT_TRUE(IsFile(Stat("d/" + NameOf(i))));
  At("lookups:before-wait", 1, [&] { next_waits.count_down(); });
  EXPECT_TRUE(IsFile(Stat("d/" + NameOf(4))));
  EXPECT_TRUE(reached_);
  if (!reached_) next_waits.count_down();
  LookAtAll();
  EXPECT_EQ(listings(), 1u);
  EXPECT_EQ(protocol_->Calls("LOOKUP"), 1u + 4u);
}
#endif

TEST_F(ListAhead, ShutdownEndsAListingThatIsInFlight) {
  MountAnew();
  std::latch asked(1), shut_down(1);
  on_reply_ = [&](const fixtures::Call& call) {
    if (call.procedure != "READDIR") return;
    asked.count_down();
    shut_down.wait();
  };
  for (int i = 0; i < 4; ++i) EXPECT_TRUE(IsFile(Stat("d/" + NameOf(i))));
  asked.wait();
  client_->Shutdown();
  shut_down.count_down();
  client_.reset();
}

TEST_F(ListAhead, NamesThatAreNotThereDoNotCount) {
  MountAnew();
  for (int i = 0; i < kFiles; ++i) EXPECT_EQ(Stat("d/missing" + NameOf(i)), kMissing);
  EXPECT_EQ(listings(), 0u);
}

TEST_F(ListAhead, OneThreadListsForAll) {
  MountAnew();
  std::vector<std::thread> threads;
  for (int i = 0; i < 8; ++i) threads.emplace_back([&] { LookAtAll(); });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(listings(), 1u);
}

TEST_F(ListAhead, ADirectoryThatOthersChangeAllTheTimeIsNotListedAllTheTime) {
  MountAnew();
  for (int round = 0; round < 30; ++round) {
    server_->Add(directory_, "new" + std::to_string(round), FileType::kRegular);
    client_->InvalidateCaches();
    LookAtAll();
  }
  EXPECT_LE(listings(), 5u);
}

// NAME-21.
TEST_F(ListAhead, ADirectoryOfMoreThan128KibibytesIsNotListed) {
  MountAnew();
  server_->Edit(directory_, [](protocol::Attributes& of) { of.size_bytes = 128 * 1024 + 1; });
  LookAtAll();
  EXPECT_EQ(listings(), 0u);
}

// NAME-21: 20 files, four in a reply.
TEST_F(ListAhead, EvictsAtMostA64thOfTheCache) {
  for (const auto& [limit, replies] : {std::pair(64u, 1u), {64u * 8, 2u}, {64u * 9, 3u}}) {
    options_.dentries_max = limit;
    MountAnew();
    server_->ListAtMost(4);
    for (int i = 0; i < 4; ++i) EXPECT_TRUE(IsFile(Stat("d/" + NameOf(i))));
    (void)Rpcs([] {});  // waits for the listing
    EXPECT_EQ(listings(), replies) << limit;
  }
}

TEST_F(ListAhead, AScanThatKeepsNothingListsNothing) {
  MountAnew();
  LookAtAll({.dont_cache = true});
  EXPECT_EQ(listings(), 0u);
}

TEST_F(ListAhead, NotWithoutRdirplusOrCaches) {
  const std::function<void(MountOptions&)> changes[] = {
      [](MountOptions& options) { options.rdirplus = false; },
      [](MountOptions& options) { options.acdirmin_s = options.acdirmax_s = 0; },
      [](MountOptions& options) { options.lookupcache = LookupCache::kNone; }};
  for (const auto& change : changes) {
    options_ = MountOptions();
    options_.acregmin_s = options_.acregmax_s = options_.acdirmin_s = options_.acdirmax_s = 600;
    change(options_);
    MountAnew();
    LookAtAll();
    EXPECT_EQ(listings(), 0u);
  }
}

// Children of a directory that are cached, and have to be asked for again.
class RefreshAhead : public ListAhead {
 protected:
  // Everything cached, the directory listed.
  void MountWarm(const std::function<void(MountOptions&)>& change = [](MountOptions&) {}) {
    options_ = MountOptions();
    options_.acregmin_s = options_.acregmax_s = options_.acdirmin_s = options_.acdirmax_s = 600;
    change(options_);
    MountAnew();
    LookAtAll();
    LookAtAll();
    ClientInternals::SuperblockOf(*client_).background.Wait();
    for (auto& [procedure, calls] : calls_when_warm_) calls = protocol_->Calls(procedure);
  }
  size_t Sent(const std::string& procedure) const {
    return protocol_->Calls(procedure) - calls_when_warm_.at(procedure);
  }
  // As another client does: the directory's names are to be verified.
  void ChangeDirectory() { server_->Add(directory_, "new", FileType::kRegular); }
  // RPCs to look at `count` files once all attributes are invalid.
  uint64_t RpcsOf(int count, bool directory_changed) {
    if (directory_changed) ChangeDirectory();
    client_->InvalidateCaches();
    return Rpcs([&] {
      for (int i = 0; i < count; ++i) EXPECT_TRUE(IsFile(Stat("d/" + NameOf(i))));
      ClientInternals::SuperblockOf(*client_).background.Wait();
    });
  }

 private:
  std::map<std::string, size_t> calls_when_warm_ = {
      {"ACCESS", 0}, {"GETATTR", 0}, {"LOOKUP", 0}, {"READDIR", 0}};
};

// ATTR-18.
TEST_F(RefreshAhead, TheSecondExpiredFileBringsTheRest) {
  MountWarm();
  client_->InvalidateCaches();
  LookAtAll();
  EXPECT_EQ(Sent("GETATTR") + Sent("ACCESS"), 3u) << "root, d, the first";
  EXPECT_EQ(Sent("READDIR"), 1u);
  EXPECT_EQ(Sent("LOOKUP"), 0u);
}

// ATTR-18.
TEST_F(RefreshAhead, TheCallerListsWhereTheBackgroundIsBusy) {
  MountWarm();
  client_->InvalidateCaches();
  TaskThreads& background = ClientInternals::SuperblockOf(*client_).background;
  std::latch all_run(nfs::Superblock::kBackgroundMax), may_end(1);
  for (size_t i = 0; i < nfs::Superblock::kBackgroundMax; ++i) {
    TaskThreads::Task task = [&] {
      all_run.count_down();
      may_end.wait();
    };
    EXPECT_TRUE(background.TryRun(task));
  }
  all_run.wait();
  using protocol::CallDeadline;
  bool is_limited = false;  // the server may answer GETATTR, and no READDIR
  on_reply_ = [&](const fixtures::Call& call) {
    if (call.procedure != "READDIR") return;
    is_limited = CallDeadline::Current() != CallDeadline::Clock::time_point::max();
  };
  LookAtAll();
  on_reply_ = nullptr;
  EXPECT_TRUE(is_limited);
  EXPECT_EQ(Sent("GETATTR") + Sent("ACCESS"), 3u) << "root, d, the first";
  EXPECT_EQ(Sent("READDIR"), 1u);
  may_end.count_down();
  background.Wait();
}

// ATTR-18.
TEST_F(RefreshAhead, ADirectoryOfMoreThanAMebibyteIsNotListed) {
  for (const uint64_t bytes : {1 << 20, (1 << 20) + 1}) {
    MountWarm();
    server_->Edit(directory_, [&](protocol::Attributes& of) { of.size_bytes = bytes; });
    client_->InvalidateCaches();
    LookAtAll();
    EXPECT_EQ(Sent("READDIR"), bytes == 1 << 20 ? 1u : 0u) << bytes;
  }
}

// ATTR-18.
TEST_F(RefreshAhead, ADirectoryThatOthersChangedIsListedOnce) {
  MountWarm();
  ChangeDirectory();
  client_->InvalidateCaches();
  LookAtAll();
  EXPECT_EQ(Sent("READDIR"), 1u);
  EXPECT_LE(Sent("LOOKUP"), 1u);
  MountWarm();
  ChangeDirectory();
  client_->InvalidateCaches();
  for (int i = 0; i < kFiles; ++i) {
    EXPECT_TRUE(client_->Create("d/" + NameOf(i), 0644, /*exclusive=*/false, me_).has_value());
  }
  EXPECT_EQ(Sent("READDIR"), 1u);
  EXPECT_LE(Sent("LOOKUP"), 1u);
}

// ATTR-18.
TEST_F(RefreshAhead, NeverMoreRpcsThanOneByOne) {
  for (const bool directory_changed : {false, true}) {
    for (int count = 1; count <= kFiles; ++count) {
      MountWarm([](MountOptions& options) { options.rdirplus = false; });
      const uint64_t one_by_one = RpcsOf(count, directory_changed);
      MountWarm();
      EXPECT_LE(RpcsOf(count, directory_changed), one_by_one)
          << count << " files" << (directory_changed ? ", the directory changed" : "");
    }
  }
}

// ATTR-18: what the listing does not answer is asked for.
TEST_F(RefreshAhead, ChangesOnTheServerAreSeen) {
  for (int changed = 0; changed < kFiles; ++changed) {
    MountWarm();
    const uint64_t file = Replace(directory_, NameOf(changed));
    server_->Take(directory_, NameOf((changed + 1) % kFiles));
    client_->InvalidateCaches();
    for (int i = 0; i < kFiles; ++i) {
      const uint64_t found = Stat("d/" + NameOf(i));
      if (i == changed) {
        EXPECT_EQ(found, file);
      } else if (i == (changed + 1) % kFiles) {
        EXPECT_EQ(found, kMissing);
      } else {
        EXPECT_TRUE(IsFile(found));
      }
    }
    ExpectNothingHeld();
  }
}

// ATTR-18: its reply is older than the change.
TEST_F(RefreshAhead, AFileThatChangesWhileTheListingIsInFlightIsAskedForAgain) {
  MountWarm();
  client_->InvalidateCaches();
  const std::string last = "d/" + NameOf(kFiles - 1);
  WhileReplyIsInFlight("READDIR",
                       [&] { EXPECT_TRUE(client_->SetAttributesOf(last, {.mode = 0600}, me_)); });
  LookAtAll();
  EXPECT_TRUE(reply_came_);
  const auto found = client_->Stat(last, me_);
  ASSERT_TRUE(found.has_value());
  EXPECT_EQ(found->mode & 0777, 0600u);
}

TEST_F(RefreshAhead, OneThreadListsForAll) {
  MountWarm();
  client_->InvalidateCaches();
  std::vector<std::thread> threads;
  for (int i = 0; i < 8; ++i) threads.emplace_back([&] { LookAtAll(); });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(Sent("READDIR"), 1u);
}

// ATTR-18: one child, however many threads ask for it at once.
TEST_F(RefreshAhead, ThreadsThatAskForOneFileListNothing) {
  constexpr int kThreads = 8;
  MountWarm();
  std::atomic<int> asked{0};
  on_reply_ = [&](const fixtures::Call& call) {
    if (call.procedure == "READDIR") asked = kThreads;
    if (call.file == nullptr || fixtures::MemoryServer::IdOf(*call.file) != directory_) return;
    ++asked;
    asked.notify_all();
    for (int n = asked; n < kThreads; n = asked) asked.wait(n);
  };
  client_->InvalidateCaches();
  std::vector<std::thread> threads;
  for (int i = 0; i < kThreads; ++i) {
    threads.emplace_back([&] { EXPECT_EQ(Stat("d"), directory_); });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(Sent("READDIR"), 0u);
}

TEST_F(RefreshAhead, ADirectoryThatMayNotBeReadIsTriedOnce) {
  MountWarm();
  protocol_->Fail("READDIR", std::errc::permission_denied);
  for (int round = 0; round < 10; ++round) {
    client_->InvalidateCaches();
    LookAtAll();
  }
  EXPECT_EQ(Sent("READDIR"), 1u);
}

TEST_F(RefreshAhead, MountsAndCallersWithoutListingsListNothing) {
  const std::function<void(MountOptions&)> changes[] = {
      [](MountOptions& options) { options.rdirplus = false; },
      [](MountOptions& options) { options.acregmin_s = options.acregmax_s = 0; },
      [](MountOptions& options) { options.acdirmin_s = options.acdirmax_s = 0; },
      [](MountOptions& options) { options.lookupcache = LookupCache::kNone; }};
  for (const auto& change : changes) {
    MountWarm(change);
    client_->InvalidateCaches();
    LookAtAll();
    EXPECT_EQ(Sent("READDIR"), 0u);
  }
  for (const ResolveFlags flags : {ResolveFlags{.dont_cache = true}, {.cached = true}}) {
    MountWarm();
    ChangeDirectory();
    client_->InvalidateCaches();
    for (int i = 0; i < kFiles; ++i) (void)Stat("d/" + NameOf(i), flags);
    EXPECT_EQ(Sent("READDIR"), 0u);
  }
}

TEST(ExpiredChildren, CountsWhatComesWithoutALongPause) {
  constexpr uint64_t kSecond = 1'000'000'000;
  nfs::ExpiredChildren children;
  const icache::Inode one, other, child[2];
  uint64_t now = kSecond;
  for (size_t i = 1; i <= 20'000; ++i) {
    EXPECT_EQ(children.Add(one, child[i % 2], now += kSecond / 2, kSecond),
              std::min<size_t>(i, 16'383));
  }
  children.Begin(other, child[0], now, kSecond);
  children.Begin(other, child[1], now, kSecond);
  EXPECT_EQ(children.Add(other, child[1], now, kSecond), 0u) << "the same one";
  EXPECT_EQ(children.Add(other, child[0], now, kSecond), 2u);
  now += kSecond;
  EXPECT_EQ(children.Add(other, child[0], now, kSecond), 1u) << "as long as attributes live";
  EXPECT_EQ(children.Add(one, child[0], now + 2 * kSecond, kSecond), 1u);
  EXPECT_EQ(children.Add(one, child[1], now + kSecond, kSecond), 1u)
      << "a clock behind the last one's";
}

// As in a walk in random order.
TEST(ExpiredChildren, CountsForAThousandDirectoriesAtATime) {
  nfs::ExpiredChildren children;
  const std::vector<icache::Inode> directories(1000);
  const icache::Inode child[2];
  for (const auto& one : directories) children.Begin(one, child[0], /*now_ns=*/1, 1'000'000'000);
  const auto counted = std::ranges::count_if(directories, [&](const auto& one) {
    return children.Add(one, child[1], /*now_ns=*/1, 1'000'000'000) == 2;
  });
  EXPECT_GE(counted, 990);  // the lines of a few may be full
}

TEST(LookupMisses, KeepsHowManyEntriesAListingShowed) {
  icache::LookupMisses misses;
  EXPECT_EQ(misses.entries(), 0u);
  const std::pair<size_t, size_t> cases[] = {{0, 1},       {1, 1},           {2, 2},
                                             {3, 4},       {100, 128},       {4096, 4096},
                                             {5000, 8192}, {20'000, 16'384}, {SIZE_MAX, 16'384}};
  for (const auto& [shown, kept] : cases) {
    misses.SetEntries(shown);
    EXPECT_EQ(misses.entries(), kept);
    misses.Add();
    EXPECT_EQ(misses.entries(), kept);
  }
  for (int i = 0; i < 70'000; ++i) misses.Add();
  EXPECT_EQ(misses.entries(), 16'384u) << "a count that ends has no effect on it";
  EXPECT_TRUE(misses.TakeReaddirHint());
  EXPECT_FALSE(misses.TakeReaddirHint());
}

}  // namespace
}  // namespace nfswalk
