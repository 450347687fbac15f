// The known bugs of path walks (docs/testing.md) about lifetime: references whose check failed,
// memory freed under a walk, lookups in flight.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <functional>
#include <set>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "tests/fixtures/memory_mount.h"

namespace nfswalk {
namespace {

class WalkLifetime : public MemoryMount {
 protected:
  WalkLifetime() {
    options_.path_cache = false;  // every walk takes every step
    Mount();
  }

  // "a/l1/c/l2/f", where "l1" leads to "a/b", and "l2" to "a/b/c/d".
  void MakeNestedLinks() {
    const uint64_t a = server_->Add(kRoot, "a", FileType::kDirectory);
    const uint64_t b = server_->Add(a, "b", FileType::kDirectory);
    const uint64_t c = server_->Add(b, "c", FileType::kDirectory);
    const uint64_t d = server_->Add(c, "d", FileType::kDirectory);
    server_->Add(a, "l1", FileType::kSymlink, "b");
    server_->Add(c, "l2", FileType::kSymlink, "/a/b/c/d");
    f_ = server_->Add(d, "f", FileType::kRegular);
  }
  static constexpr const char* kPath = "a/l1/c/l2/f";
  // A cached prefix, and the directory in which RCU-walk then leaves.
  struct Step {
    const char* known;
    const char* stops_in;
  };
  static constexpr Step kSteps[] = {
      {"a", "a"}, {"a/l1", "a/b"}, {"a/l1/c", "a/b/c"}, {"a/l1/c/l2", "a/b/c/d"}};

  void Know(const char* path) {
    client_->DropCaches();
    Warm(path);
  }

  uint64_t f_ = 0;
};

#ifndef NDEBUG

// The directory was unhashed long before the walk reaches it from below; then its last child is
// destroyed, and the directory with it.
TEST_F(WalkLifetime, ADirectoryThatDiesUnhashedUnderTheWalkerIsNoAnswer) {
  for (const bool strict : {false, true}) {
    MountAnew();
    const uint64_t d = server_->Add(kRoot, "d", FileType::kDirectory);
    server_->Add(d, "e", FileType::kDirectory);
    for (int i = 0; i < kCold; ++i) {
      ASSERT_EQ(Stat("d/e/..", {.strict = strict}), d);
    }
    bool unhashed = false, destroyed = false;
    const auto walker = std::this_thread::get_id();
    rcu::SyncPointScript::OnReach("walk:next-component", [&, turn = 0]() mutable {
      if (std::this_thread::get_id() != walker || ++turn != 3) return;
      unhashed = true;
      Elsewhere([&] {
        server_->Take(kRoot, "d");
        List("/");
        EXPECT_EQ(Stat("d"), kMissing);
      });
    });
    rcu::SyncPointScript::OnReach("walk:before-confirm", [&] {
      if (std::this_thread::get_id() != walker || destroyed) return;
      destroyed = true;
      Elsewhere([&] {
        client_->DropCaches();
        EXPECT_EQ(client_->stats().dentries, 1u);
      });
    });
    EXPECT_EQ(Stat("d/e/..", {.strict = strict}), kMissing);
    EXPECT_TRUE(unhashed && destroyed);
    rcu::SyncPointScript::ClearAll();
  }
}

// Wherever RCU-walk leaves, its position has moved by the time that the reference is taken. The
// reference is dropped, and the walk restarts. WALK-2.
TEST_F(WalkLifetime, AnUnlazyThatFailsLeavesNothingBehind) {
  MakeNestedLinks();
  for (const Step& step : kSteps) {
    for (const bool cached : {false, true}) {
      Know(step.known);
      At("unlazy:after-reference", 1, [&] {
        Rename(step.stops_in, "a/elsewhere");
        Rename("a/elsewhere", step.stops_in);
      });
      if (step.stops_in == std::string_view("a")) {
        At("unlazy:after-reference", 1, [&] {
          Rename("a", "elsewhere");
          Rename("elsewhere", "a");
        });
      }
      EXPECT_EQ(Stat(kPath, {.cached = cached}), cached ? kTryAgain : f_) << step.known;
      EXPECT_TRUE(reached_) << step.known;
      rcu::SyncPointScript::ClearAll();
      ExpectNothingHeld();
    }
  }
}

// As above, but it is the last reference of an unhashed directory, which is destroyed after the
// section. WALK-2.
TEST_F(WalkLifetime, AFailedUnlazyDropsTheLastReferenceAfterTheSection) {
  for (const bool cached : {false, true}) {
    for (const Step& step : kSteps) {
      MountAnew();
      MakeNestedLinks();
      server_->RemoveFullDirectories();
      Know(step.known);
      At("unlazy:after-reference", 1, [&] { Remove(FileType::kDirectory, step.stops_in); });
      EXPECT_EQ(Stat(kPath, {.cached = cached}), cached ? kTryAgain : kMissing) << step.known;
      EXPECT_TRUE(reached_) << step.known;
      rcu::SyncPointScript::ClearAll();
      ExpectNothingHeld();
    }
  }
}

// Links, followed or not, in walks that complete and that leave, leak no reference.
TEST_F(WalkLifetime, FollowingALinkTakesAndLeavesNoReference) {
  MakeNestedLinks();
  for (const char* known : {"a", "a/l1", "a/l1/c/l2", kPath}) {
    for (const ResolveFlags flags :
         {ResolveFlags{}, ResolveFlags{.no_follow = true}, ResolveFlags{.no_symlinks = true},
          ResolveFlags{.beneath = true}, ResolveFlags{.cached = true},
          ResolveFlags{.strict = true}}) {
      for (const char* path : {kPath, "a/l1", "a/l1/c/l2", "a/l1/c/l2/", "a/l1/c/l2/missing"}) {
        Know(known);
        for (int i = 0; i < 3; ++i) (void)Stat(path, flags);
        ExpectNothingHeld();
      }
    }
  }
}

// Everything that a walk reads is evicted under it: names and inodes; texts and rights are dropped,
// and thousands of others allocated. The first directory is removed: the file is found only by a
// walk that had left it by the link, and is not strict. WALK-25.
TEST_F(WalkLifetime, DentryEvictedUnderAWalkerStaysReadable) {
  constexpr const char* kPoints[] = {"hash_table:search-step",   "dentry:before-sample",
                                     "dentry:long-name-loaded",  "walk:next-component",
                                     "walk:after-child-sample",  "walk:after-link-text",
                                     "walk:before-confirm",      "readlink-rcu:between-loads",
                                     "access_cache:peek-loaded", "walk:before-dotdot-check"};
  constexpr int kTurns = 6, kComponentsBeforeTheText = 4;
  const std::string long_name(100, 'n');
  const std::string path = "d/" + long_name + "/../l/f";
  int taken = 0, found = 0;
  for (int run = 0; run < 2 * kTurns * std::ssize(kPoints); ++run) {
    const bool strict = run % 2 != 0;
    const int turn = 1 + run / 2 % kTurns;
    const std::string_view point = kPoints[run / 2 / kTurns];
    MountAnew();
    const uint64_t d = server_->Add(kRoot, "d", FileType::kDirectory);
    const uint64_t e = server_->Add(kRoot, "e", FileType::kDirectory);
    server_->Add(d, long_name, FileType::kDirectory);
    server_->Add(d, "l", FileType::kSymlink, "/e/./././././././././././././././././.");
    const uint64_t f = server_->Add(e, "f", FileType::kRegular);
    for (int i = 0; i < kCold; ++i) {
      ASSERT_EQ(Stat(path, {.strict = strict}), f);
    }
    int components = 0;
    bool followed = false;
    rcu::SyncPointScript::OnReach("walk:next-component", [&, me = std::this_thread::get_id()] {
      components += std::this_thread::get_id() == me;
    });
    At(point, turn, [&] {
      followed = (point == "walk:next-component" ? turn : components) > kComponentsBeforeTheText;
      server_->Take(kRoot, "d");
      List("/");
      (void)Stat("d");
      client_->DropCaches();
      const uint64_t other = server_->Add(kRoot, "other", FileType::kDirectory);
      for (int i = 0; i < 100; ++i) {
        const std::string name = std::string(100, 'm') + std::to_string(i);
        server_->Add(other, name, FileType::kSymlink, std::string(41, 'x'));
        EXPECT_EQ(LinkText("other/" + name), std::string(41, 'x'));
      }
    });
    const uint64_t answer = Stat(path, {.strict = strict});
    const bool may_find = !reached_ || (followed && !strict), may_miss = reached_;
    EXPECT_TRUE((may_find && answer == f) || (may_miss && answer == kMissing))
        << answer << " at " << point << " " << turn << ", strict " << strict;
    taken += reached_;
    found += reached_ && answer == f;
    rcu::SyncPointScript::ClearAll();
  }
  EXPECT_GE(taken, 60);
  EXPECT_GE(found, 4);
}

// A link is replaced over and over after the walk has read its text: the walk follows that text.
TEST_F(WalkLifetime, ALinkThatIsReplacedUnderTheWalkerLeadsWhereItsTextLed) {
  std::vector<uint64_t> targets;
  for (int i = 0; i < 20; ++i) {
    targets.push_back(
        server_->Add(kRoot, std::string(200, static_cast<char>('A' + i)), FileType::kRegular));
  }
  const uint64_t link = server_->Add(kRoot, "link", FileType::kSymlink, "");
  for (const bool strict : {false, true}) {
    server_->SetTarget(link, std::string(200, 'A'));
    List("/");
    // Allocates in the pool shard of the next thread of Elsewhere(), which reuses the index.
    Elsewhere([&] { EXPECT_EQ(Stat("link"), targets[0]); });
    for (int i = 0; i < kCold; ++i) {
      ASSERT_EQ(Stat("link", {.strict = strict}), targets[0]);
    }
    At("walk:after-link-text", 1, [&] {
      for (int i = 0; i < 20; ++i) {
        server_->SetTarget(link, std::string(200, static_cast<char>('A' + i)));
        List("/");
        EXPECT_EQ(Stat("link"), targets[i]);
      }
    });
    const uint64_t answer = Stat("link", {.strict = strict});
    EXPECT_TRUE(reached_);
    rcu::SyncPointScript::ClearAll();
    // The text was valid when it was read; a strict walk reads it again.
    EXPECT_EQ(answer, targets[strict ? 19 : 0]);
  }
}

// Two threads look up one directory under two names while it is moved on the server: it has one
// dentry, where it was seen last. WALK-22.
TEST_F(WalkLifetime, ADirectoryMetUnderTwoNamesAtOnceHasOneDentry) {
  const uint64_t a = server_->Add(kRoot, "a", FileType::kDirectory);
  const uint64_t b = server_->Add(kRoot, "b", FileType::kDirectory);
  const uint64_t x = server_->Add(a, "x", FileType::kDirectory);
  ASSERT_EQ(Stat("a"), a);
  ASSERT_EQ(Stat("b"), b);
  At("splice:no-alias", 1, [&] {
    server_->Move(a, b, "x");
    EXPECT_EQ(Stat("b/x"), x);
    EXPECT_EQ(Stat("b/x/file"), kMissing);
  });
  EXPECT_EQ(Stat("a/x"), x);  // its reply is older than the move
  EXPECT_TRUE(reached_);
  EXPECT_EQ(client_->stats().dentries, 5u) << "the root, a, b, x, and that it has no file";
  rcu::SyncPointScript::ClearAll();
  ExpectNothingHeld();
}

#endif

// Eight threads look up one name; the reply to the one LOOKUP sent is held until all of them have
// begun. NAME-22.
TEST_F(WalkLifetime, OneNameWantedByManyIsAskedForOnce) {
  constexpr int kThreads = 8, kNames = 50;
  options_.path_cache = true;
  options_.rdirplus = false;  // no listing caches the names
  MountAnew();
  std::atomic<int> begun{0};
  const auto hold_back = [&](const fixtures::Call& call) {
    if (call.procedure != "LOOKUP") return;
    for (int now = begun; now % kThreads != 0; now = begun) begun.wait(now);
  };
  std::array<uint64_t, kNames> answers;
  answers.fill(kMissing);
  const auto name_of = [](int name) { return "name" + std::to_string(name); };
  for (int name = 0; name < kNames; name += 2) {
    answers[name] = server_->Add(kRoot, name_of(name), FileType::kRegular);
  }
  // Otherwise the first reply would show a change, and invalidate itself.
  Warm("warm");
  on_reply_ = hold_back;
  for (int name = 0; name < kNames; ++name) {
    const std::string path = name_of(name);
    const uint64_t answer = answers[name];
    const uint64_t before = protocol_->Calls("LOOKUP");
    std::atomic<int> wrong{0};
    std::vector<std::thread> threads;
    for (int t = 0; t < kThreads; ++t) {
      threads.emplace_back([&] {
        ++begun;
        begun.notify_all();
        wrong += Stat(path) != answer;
      });
    }
    for (auto& thread : threads) thread.join();
    EXPECT_EQ(wrong, 0) << path;
    EXPECT_EQ(protocol_->Calls("LOOKUP"), before + 1) << path;
  }
}

// Reclaim and traversals of the caches meet no lookup that is half done.
TEST_F(WalkLifetime, ReclaimAndInvalidationMeetNoHalfMadeName) {
  options_.path_cache = true;
  options_.dentries_max = 16;
  options_.inodes_max = 16;
  options_.access_entries_max = 4;
  MountAnew();
  constexpr int kDirectories = 4, kFiles = 8;
  uint64_t files[kDirectories][kFiles];
  for (int d = 0; d < kDirectories; ++d) {
    const uint64_t dir = server_->Add(kRoot, std::to_string(d), FileType::kDirectory);
    for (int f = 0; f < kFiles; ++f) {
      files[d][f] = server_->Add(dir, std::to_string(f), FileType::kRegular);
    }
  }
  std::atomic<int> wrong{0}, looking{3};
  std::vector<std::thread> threads;
  for (int t = 0; t < 3; ++t) {
    threads.emplace_back([&, t] {
      for (int i = t; i < 4000; ++i) {
        const int d = i % kDirectories, f = i * 7 % (kFiles + 2);
        const std::string path = std::to_string(d) + "/../" + std::to_string(d) + "/";
        const uint64_t answer = f < kFiles ? files[d][f] : kMissing;
        const bool strict = t == 0 && i % 16 == 0;
        const uint64_t got =
            Stat(path + std::to_string(f), {.strict = strict, .dont_cache = i % 5 == 0});
        // A strict walk may give up.
        wrong += got != answer && !(strict && got == kTryAgain);
      }
      --looking;
    });
  }
  uint64_t passes = 0;
  for (; looking > 0; ++passes)
    passes % 2 == 0 ? client_->DropCaches() : client_->InvalidateCaches();
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
  EXPECT_GT(passes, 1u);
  ExpectNothingHeld();
}

// Texts of all sizes, replaced while others read and follow them.
TEST_F(WalkLifetime, ATextIsAlwaysOneThatTheLinkHad) {
  std::vector<std::string> texts;
  std::set<uint64_t> targets;
  for (const size_t length : {1, 7, 8, 30, 31, 100, 200, 255}) {
    texts.emplace_back(length, static_cast<char>('a' + texts.size()));
    targets.insert(server_->Add(kRoot, texts.back(), FileType::kRegular));
  }
  const uint64_t link = server_->Add(kRoot, "link", FileType::kSymlink, texts[0]);
  std::atomic<bool> stop{false};
  std::atomic<uint64_t> wrong{0}, read{0};
  std::vector<std::thread> readers;
  for (int t = 0; t < 2; ++t) {
    readers.emplace_back([&] {
      while (!stop) {
        const std::string text = LinkText("link");
        wrong += std::find(texts.begin(), texts.end(), text) == texts.end();
        wrong += !targets.contains(Stat("link"));
        ++read;
      }
    });
  }
  for (size_t i = 0; i < 1500 || read < 500; ++i) {
    server_->SetTarget(link, texts[i % texts.size()]);
    List("/");
  }
  stop = true;
  for (auto& reader : readers) reader.join();
  EXPECT_EQ(wrong, 0u);
}

// The state that ref-walk uses after a call is held by a reference: while the reply is in flight
// the file is removed, the caches are dropped and their memory reused. The file is found only if
// its name had been looked up before.
TEST_F(WalkLifetime, NothingIsReadOfWhatTheWalkNoLongerHolds) {
  const uint64_t d = server_->Add(kRoot, "d", FileType::kDirectory);
  int removals = 0;
  for (const std::string_view reply : {"ACCESS", "LOOKUP", "READLINK"}) {
    for (int turn = 1; turn <= 4; ++turn) {
      server_->Add(d, "link", FileType::kSymlink, "dir/script");
      const uint64_t dir = server_->Add(d, "dir", FileType::kDirectory);
      server_->Add(dir, "script", FileType::kRegular);
      client_->DropCaches();
      const size_t lookups = protocol_->LookupsOf("script");
      bool removed = false, found = false;
      on_reply_ = [&, replies = 0](const fixtures::Call& call) mutable {
        if (call.procedure != reply || ++replies != turn) return;
        removed = true;
        found = protocol_->LookupsOf("script") != lookups;
        Elsewhere([&] {
          server_->Take(dir, "script");
          server_->Take(d, "dir");
          client_->InvalidateCaches();
          client_->DropCaches();
          for (int i = 0; i < 50; ++i) {
            const std::string name = "other" + std::to_string(i);
            server_->Add(kRoot, name, FileType::kRegular);
            EXPECT_TRUE(IsFile(Stat(name)));
          }
        });
      };
      const std::errc answer = client_->Access("d/link", kMayExecute, me_);
      EXPECT_EQ(Failed(answer), found || !removed ? 0 : kMissing) << reply << " " << turn;
      on_reply_ = nullptr;
      removals += removed;
      if (!removed) {
        server_->Take(dir, "script");
        server_->Take(d, "dir");
      }
      server_->Take(d, "link");
      ExpectNothingHeld();
    }
  }
  EXPECT_GE(removals, 9);
}

}  // namespace
}  // namespace nfswalk
