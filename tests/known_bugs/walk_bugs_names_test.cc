// The known bugs of path walks (docs/testing.md) about one name in one table: forced on the
// dentry cache itself, mostly in a table of two chains.
#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "rcu/defer.h"
#include "rcu/read_guard.h"
#include "rcu/sync_point.h"
#include "tests/fixtures/interleavings.h"
#include "tests/unit/nfsclient/vfs/cached_tree.h"

namespace nfswalk::vfs {
namespace {

using protocol::FileType;

constexpr size_t kUnlimited = 1'000'000;

// One byte, and both sides of: a word, the words compared first, the inline name of a dentry.
constexpr size_t kLengths[] = {1, 7, 8, 9, 15, 16, 17, 31, 39, 40, 41, 100, 255};
std::string NameOf(size_t length) {
  return std::string(length, static_cast<char>('a' + length % 26));
}

// A table of two chains that does not grow.
class DentryNames : public testing::Test {
 protected:
  DentryNames() : tree_(kUnlimited, 2, kUnlimited) {}
  ~DentryNames() override { rcu::SyncPointScript::ClearAll(); }

  DentryCache& dentries() { return tree_.dentries(); }
  DentryRef& root() { return tree_.root(); }

  // Returns a name with `prefix` whose hash falls in `chain` of the root's names.
  std::string NameInChain(std::string prefix, uint64_t chain) {
    for (int i = 0;; ++i) {
      std::string name = prefix + std::to_string(i);
      if (PaddedName(name, root().get()).name().hash >> 63 == chain) return name;
    }
  }

  // Runs `act` whenever this thread reaches the point; others pass.
  static void OnThisThread(std::string_view point, std::function<void()> act) {
    rcu::SyncPointScript::OnReach(point,
                                  [walker = std::this_thread::get_id(), act = std::move(act)] {
                                    if (std::this_thread::get_id() == walker) act();
                                  });
  }
  // Runs `act` on another thread, the first time only.
  static void Meanwhile(std::string_view point, std::function<void()> act) {
    OnThisThread(point, [act = std::move(act), done = false]() mutable {
      if (!std::exchange(done, true)) Elsewhere(act);
    });
  }

  CachedTree tree_;
};

// The inode pointer of a dropped dentry stays readable, so only its sequence shows that it was
// destroyed. WALK-5.
TEST_F(DentryNames, TheEndOfADentryThatWasUnhashedLongAgoSpoilsItsSamples) {
  DentryRef held = tree_.Add(root(), "dir", 2, FileType::kDirectory);
  Dentry* const dentry = held.get();
  dentries().Drop(*dentry);
  rcu::ReadGuard guard;
  const uint64_t sample = dentry->seq.Begin();
  ASSERT_FALSE(dentry->seq.Changed(sample));
  Elsewhere([&] { held = {}; });
  EXPECT_TRUE(dentry->seq.Changed(sample));
  EXPECT_FALSE(dentry->seq.Changed(dentry->seq.Begin())) << "the sequence was left odd";
}

#ifndef NDEBUG

TEST_F(DentryNames, AReferenceDroppedUnderRcuIsCaughtInADebugBuild) {
  DentryRef file = tree_.Add(root(), "file", 2);
  EXPECT_DEATH(
      {
        rcu::ReadGuard guard;
        file = {};
      },
      "read-side");
}

// The reference whose check failed may be the last one: it is dropped after the section.
TEST_F(DentryNames, ALookupThatIsOvertakenDestroysWhatItHoldsOutsideItsSection) {
  tree_.Add(root(), "file", 2);
  Meanwhile("lookup:before-check", [&] {
    DentryRef file = tree_.Lookup(root(), "file");
    ASSERT_TRUE(file);
    dentries().Drop(*file);
  });
  EXPECT_FALSE(tree_.Lookup(root(), "file"));
  EXPECT_EQ(dentries().size(), 1u);
}

// The parent has the same address again, with another parent in between. WALK-12.
TEST_F(DentryNames, AParentIsTakenByTheSequenceNotByItsAddress) {
  DentryRef p = tree_.Add(root(), "p", 2, FileType::kDirectory);
  DentryRef q = tree_.Add(root(), "q", 3, FileType::kDirectory);
  DentryRef d = tree_.Add(p, "d", 4, FileType::kDirectory);
  int checks = 0;
  const auto parent_while = [&](std::function<void()> move) {
    checks = 0;
    OnThisThread("parent:before-check", [&checks, move] {
      if (++checks == 1) Elsewhere(move);
    });
    return dentries().Parent(*d).inode()->fileid;
  };
  EXPECT_EQ(parent_while([&] {
              ASSERT_EQ(tree_.Move(d, q, "d"), std::errc{});
              ASSERT_EQ(tree_.Move(d, p, "d"), std::errc{});
            }),
            2u);
  EXPECT_EQ(checks, 2);
  EXPECT_EQ(parent_while([&] { ASSERT_EQ(tree_.Move(d, q, "d"), std::errc{}); }), 3u);
  EXPECT_EQ(checks, 2);
}

// A rename at every try would livelock a lookup; after some tries the lookup takes the rename lock.
// WALK-12.
TEST_F(DentryNames, ALookupAndAParentThatRenamesOvertakeEachTimeComeToAnEnd) {
  constexpr int kTooMany = 1000;
  DentryRef p = tree_.Add(root(), "p", 2, FileType::kDirectory);
  DentryRef q = tree_.Add(root(), "q", 3, FileType::kDirectory);
  DentryRef d = tree_.Add(p, "d", 4, FileType::kDirectory);
  int overtaken = 0;
  bool kept_out = false;
  OnThisThread("dentry:keep-renames-out", [&] { kept_out = true; });
  const auto overtake = [&] {
    if (kept_out || ++overtaken > kTooMany) return;
    Elsewhere([&] {
      ASSERT_EQ(tree_.Move(d, q, "d"), std::errc{});
      ASSERT_EQ(tree_.Move(d, p, "d"), std::errc{});
    });
  };
  OnThisThread("lookup:before-check", overtake);
  OnThisThread("parent:before-check", overtake);
  const auto ends = [&](auto&& act) {
    overtaken = 0;
    kept_out = false;
    act();
    EXPECT_GT(overtaken, 1);
    EXPECT_LT(overtaken, kTooMany);
  };
  ends([&] { EXPECT_FALSE(tree_.Lookup(root(), "missing")); });
  ends([&] { EXPECT_TRUE(tree_.Lookup(p, "d")); });
  ends([&] { EXPECT_EQ(dentries().Parent(*d).get(), p.get()); });
}

// The dentry is dropped before its sequence is sampled: the sample validates, and only the test for
// "unhashed" in the search rejects it. WALK-4.
TEST_F(DentryNames, ADentryDroppedBeforeItsSampleIsTakenIsNotFound) {
  DentryRef old = tree_.Add(root(), "file", 2);
  uint64_t meanwhile = 0;
  Meanwhile("dentry:before-sample", [&] {
    dentries().Drop(*old);
    tree_.Add(root(), "file", 3);
    meanwhile = tree_.FindRcu(root(), "file");
  });
  EXPECT_NE(tree_.FindRcu(root(), "file"), 2u);
  EXPECT_EQ(meanwhile, 3u);
  EXPECT_EQ(tree_.FindRcu(root(), "file"), 3u);
  EXPECT_EQ(tree_.Lookup(root(), "file").inode()->fileid, 3u);
}

// A name changes from any length to any other under a reader. WALK-26.
TEST_F(DentryNames, ANameThatChangesUnderAReaderIsNotFound) {
  DentryRef file = tree_.Add(root(), NameOf(1), 42);
  size_t now = 1;
  int overtaken = 0;
  for (const char* point : {"dentry:before-sample", "dentry:long-name-loaded"}) {
    for (const size_t from : kLengths) {
      for (const size_t to : kLengths) {
        if (from == to) continue;
        if (now != from) {
          ASSERT_EQ(tree_.Move(file, root(), NameOf(from)), std::errc{});
        }
        now = from;
        Meanwhile(point, [&] {
          ASSERT_EQ(tree_.Move(file, root(), NameOf(to)), std::errc{});
          now = to;
          ++overtaken;
        });
        const uint64_t seen = tree_.FindRcu(root(), NameOf(from));
        rcu::SyncPointScript::ClearAll();
        EXPECT_EQ(seen, now == to ? 0u : 42u) << from << " to " << to << " at " << point;
        EXPECT_EQ(tree_.FindRcu(root(), NameOf(now)), 42u);
      }
    }
  }
  EXPECT_EQ(overtaken, 12 * 13 + 12 * 3) << "of the latter only names that lie outside";
}

// A reader holds the address of a long name's bytes when the name is freed; they stay unchanged
// until its section ends. WALK-25.
TEST_F(DentryNames, TheBytesOfALongNameOutliveTheNameForAsLongAsAReaderMayCompareThem) {
  for (const size_t length : {41, 100, 255}) {
    const std::string name(length, 'n');
    DentryRef file;
    // Allocates in the pool shard of the next thread of Elsewhere(), which reuses the index.
    Elsewhere([&] { file = tree_.Add(root(), name, 42); });
    Meanwhile("dentry:long-name-loaded", [&] {
      for (int i = 0; i < 40; ++i) {
        ASSERT_EQ(tree_.Move(file, root(), std::string(length, static_cast<char>('A' + i % 26))),
                  std::errc{});
      }
      ASSERT_EQ(tree_.Move(file, root(), "short"), std::errc{});
    });
    PaddedName padded(name, root().get());
    {
      rcu::ReadGuard guard;
      EXPECT_TRUE(file->HasName(padded.name())) << length;
    }
    EXPECT_FALSE(file->HasName(padded.name())) << length;
    EXPECT_EQ(tree_.FindRcu(root(), "short"), 42u);
    dentries().Drop(*file);
    rcu::SyncPointScript::ClearAll();
  }
}

#endif

// Short and long names, in one chain with others, under three readers.
TEST_F(DentryNames, ANameThatGrowsAndShrinksIsNeverFoundInPart) {
  DentryRef file = tree_.Add(root(), NameOf(1), 42);
  for (uint64_t i = 0; i < 20; ++i) tree_.Add(root(), "bystander" + std::to_string(i), 100 + i);
  std::atomic<bool> stop{false};
  std::atomic<uint64_t> wrong{0}, found{0}, missed{0};
  std::vector<std::thread> readers;
  for (size_t t = 0; t < 3; ++t) {
    readers.emplace_back([&, t] {
      for (size_t i = t; !stop; ++i) {
        std::string name = NameOf(kLengths[i % std::size(kLengths)]);
        const uint64_t seen = tree_.FindRcu(root(), name);
        wrong += seen != 0 && seen != 42;
        seen != 0 ? ++found : ++missed;
        if (const DentryRef locked = tree_.Lookup(root(), name)) {
          wrong += locked.inode()->fileid != 42;
        }
        name.back() = '-';
        wrong += tree_.FindRcu(root(), name) != 0;
      }
    });
  }
  uint64_t random = 1;
  for (int i = 1; i <= 10'000 || found < 100 || missed < 100; ++i) {
    random = random * 6364136223846793005u + 1442695040888963407u;
    const size_t length = kLengths[(random >> 33) % std::size(kLengths)];
    ASSERT_EQ(tree_.Move(file, root(), NameOf(length)), std::errc{});
  }
  stop = true;
  for (auto& reader : readers) reader.join();
  EXPECT_EQ(wrong, 0u);
}

// A section that began before the free sees the memory unchanged, whatever is allocated.
TEST_F(DentryNames, MemoryIsNotUsedAgainWhileAReaderMayLookAtIt) {
  constexpr uint64_t kOthers = 3000;
  // Allocates in the pool shard of the next thread of Elsewhere(), which reuses the index.
  Elsewhere([&] { tree_.Add(root(), "file", 2); });
  PaddedName name("file", root().get());
  std::vector<DentryRef> others;
  {
    rcu::ReadGuard guard;
    uint64_t seq = 0;
    Dentry* const dentry = dentries().FindRcu(root().get(), name.name(), &seq);
    ASSERT_NE(dentry, nullptr);
    icache::Inode* const inode = dentry->inode.load();
    Elsewhere([&] {
      while (dentries().size() > 1) dentries().Prune(64);
      tree_.inodes().EvictUnused();
      for (uint64_t i = 0; i < kOthers; ++i) {
        others.push_back(tree_.Add(root(), "other" + std::to_string(i), 10 + i));
      }
    });
    EXPECT_TRUE(dentry->seq.Changed(seq));
    EXPECT_EQ(dentry->inode.load(), inode);
    EXPECT_EQ(inode->fileid, 2u);
    for (const DentryRef& other : others) {
      EXPECT_NE(other.get(), dentry);
      EXPECT_NE(other.inode(), inode);
    }
  }
  ASSERT_EQ(others.size(), kOthers);
}

#ifndef NDEBUG

// Directories of which the last is unused: its destruction drops its parent, and so on. Meanwhile
// others reclaim, look up the first of them and build a new branch beside it.
TEST_F(DentryNames, ABranchThatDiesFromItsEndTakesNothingElseAlong) {
  for (const bool dropped : {false, true}) {
    std::vector<DentryRef> branch;
    branch.push_back(root().Copy());
    uint64_t fileid = dropped ? 1000 : 100;
    for (const char* name : {"a", "b", "c", "d", "e"}) {
      branch.push_back(tree_.Add(branch.back(), name, ++fileid, FileType::kDirectory));
    }
    if (dropped) {
      for (size_t i = 1; i < branch.size(); ++i) dentries().Drop(*branch[i]);
    }
    int ends = 0;
    OnThisThread("dentry:destroy", [&] {
      ++ends;
      Elsewhere([&] {
        const DentryRef a = tree_.Lookup(root(), "a");
        if (!dropped) {
          ASSERT_TRUE(a || ends == 5);
          if (a) {
            EXPECT_EQ(dentries().Parent(*a).get(), root().get());
          }
          return;
        }
        DentryRef beside = tree_.Add(root(), "a", 2000 + ends, FileType::kDirectory);
        DentryRef below = tree_.Add(beside, "b", 3000 + ends, FileType::kDirectory);
        EXPECT_EQ(dentries().Parent(*below).get(), beside.get());
        dentries().Prune(64);
        dentries().Drop(*beside);
      });
    });
    // From the root downwards, so that each is held by its child alone.
    for (DentryRef& dentry : branch) dentry = {};
    for (int i = 0; i < 100 && dentries().size() > 1; ++i) dentries().Prune(64);
    rcu::SyncPointScript::ClearAll();
    EXPECT_GE(ends, 5);
    for (int i = 0; i < 100 && dentries().size() > 1; ++i) dentries().Prune(64);
    EXPECT_EQ(dentries().size(), 1u);
  }
}

#endif

// Reclaim, drops and insertions along branches of directories, by three threads.
TEST_F(DentryNames, ReclaimOfWholeBranchesByManyLeavesNothingBehind) {
  std::atomic<uint64_t> fileid{10}, pruned{0}, wrong{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 3; ++t) {
    threads.emplace_back([&, t] {
      uint64_t random = t + 1;
      for (int i = 0; i < 1500; ++i) {
        random = random * 6364136223846793005u + 1442695040888963407u;
        DentryRef at = tree_.root().Copy();
        for (int depth = 0; depth < 6; ++depth) {
          const std::string name = std::to_string((random >> (8 * depth)) % 3);
          DentryRef child = tree_.Add(at, name, ++fileid, FileType::kDirectory);
          wrong += child.inode() == nullptr;
          if (i % 5 == depth) dentries().Drop(*child);
          at = std::move(child);
        }
        wrong += dentries().Parent(*at).inode() == nullptr;
        at = {};
        if (i % 3 == 0) pruned += dentries().Prune(16);
      }
    });
  }
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0u);
  EXPECT_GT(pruned, 100u);
  for (int i = 0; i < 10'000 && dentries().size() > 1; ++i) dentries().Prune(64);
  EXPECT_EQ(dentries().size(), 1u);
}

#ifndef NDEBUG

// The dentry under a reader is moved to the other chain, and the reader continues there: a miss
// does not prove that a file of its own chain is missing. WALK-6.
TEST_F(DentryNames, AReaderLedIntoAnotherChainProvesNothing) {
  const std::string stays = NameInChain("stays", 0);
  const std::string here = NameInChain("wanderer", 0), away = NameInChain("wanderer", 1);
  tree_.Add(root(), stays, 2);
  DentryRef wanderer = tree_.Add(root(), here, 3);  // in front of it
  Meanwhile("hash_table:search-step",
            [&] { ASSERT_EQ(tree_.Move(wanderer, root(), away), std::errc{}); });
  EXPECT_EQ(tree_.FindRcu(root(), stays), 0u) << "the reader was not moved to the other chain";
  ASSERT_EQ(tree_.Move(wanderer, root(), here), std::errc{});
  int moves = 0;
  OnThisThread("hash_table:search-step", [&] {
    Elsewhere([&] {
      ASSERT_EQ(tree_.Move(wanderer, root(), ++moves % 2 == 0 ? here : away), std::errc{});
    });
  });
  const DentryRef found = tree_.Lookup(root(), stays);
  ASSERT_TRUE(found);
  EXPECT_EQ(found.inode()->fileid, 2u);
  EXPECT_GE(moves, 1);
}

// A file that is in neither chain is not missing: a reader that misses the old name finds the new
// one.
TEST_F(DentryNames, AFileBetweenTwoNamesIsFoundByOneOfThem) {
  const std::string from = NameInChain("from", 0), to = NameInChain("to", 1);
  DentryRef file = tree_.Add(root(), from, 2);
  bool by_old = false, by_new = false;
  std::atomic<bool> waits{false}, done{false};
  const auto settle = [](std::atomic<bool>& what) {
    what = true;
    nfswalk::internal::Tell();
  };
  std::thread reader;
  rcu::SyncPointScript::OnReach("dentry:keep-renames-out", [&] { settle(waits); });
  rcu::SyncPointScript::OnReach("move:between-chains", [&] {
    reader = std::thread([&] {
      by_old = static_cast<bool>(tree_.Lookup(root(), from));
      by_new = static_cast<bool>(tree_.Lookup(root(), to));
      settle(done);
    });
    nfswalk::internal::Await([&] { return waits || done; });
  });
  ASSERT_EQ(tree_.Move(file, root(), to), std::errc{});
  reader.join();
  EXPECT_TRUE(by_old || by_new);
}

#endif

// No cache line that walks read holds what references and reclaim write. WALK-27.
TEST_F(DentryNames, CountAndLruLieBesideNothingThatAWalkerReads) {
  const DentryRef ref = tree_.Add(root(), "file", 2);
  const Dentry& dentry = *ref;
  const auto line = [](const void* address) { return reinterpret_cast<uintptr_t>(address) / 64; };
  const auto last_line = [&](const auto& object) {
    return line(reinterpret_cast<const char*>(&object + 1) - 1);
  };
  const std::array read = {line(&dentry.seq),           line(&dentry.hash_next),
                           line(&dentry.hash),          line(&dentry.parent),
                           line(&dentry.inode),         line(&dentry.verifier),
                           line(&dentry.name_words[0]),   // names longer than 16 bytes lie
                           line(&dentry.name_words[1])};  // beside the count, as in the kernel
  const std::array written = {line(&dentry.lockref), line(&dentry.lru_state),
                              line(&dentry.lru_hook)};
  for (const auto a : read) {
    for (const auto b : written) EXPECT_NE(a, b);
  }
  const icache::Inode& inode = *ref.inode();
  const std::array inode_read = {
      line(&inode.attributes_seq), line(&inode.change_id),      line(&inode.read_at_ns),
      line(&inode.lifetime_s),     line(&inode.cache_validity), line(&inode.flags),
      line(&inode.type),           line(&inode.access),         last_line(inode.access),
      line(&inode.attributes),     last_line(inode.attributes)};
  const std::array inode_written = {line(&inode.count),       line(&inode.lock),
                                    line(&inode.access_lock), line(&inode.state),
                                    line(&inode.lru_hook),    line(&inode.list_hook)};
  for (const auto a : inode_read) {
    for (const auto b : inode_written) EXPECT_NE(a, b);
  }
}

}  // namespace
}  // namespace nfswalk::vfs
