// What the client promises of a warm call, checked by machine: no RPC, no lock, no allocation, and
// no store to anything that another thread could see.

#include <array>
#include <atomic>
#include <csignal>
#include <cstdlib>
#include <new>
#include <string>
#include <thread>
#include <tuple>
#include <vector>

#include "rcu/lock_order.h"
#include "rcu/page_region.h"
#include "tests/fixtures/mounted_export.h"

namespace {
// Allocations of the calling thread.
thread_local uint64_t allocations = 0;
}  // namespace

// NOLINTBEGIN: the replaceable functions have the names they have.
void* operator new(size_t size) {
  ++allocations;
  if (void* memory = std::malloc(size)) return memory;
  std::abort();
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, size_t) noexcept { std::free(memory); }
// NOLINTEND

namespace nfswalk {
namespace {

using fixtures::MountedExport;

class WarmWalk : public MountedExport,
                 public testing::WithParamInterface<std::tuple<std::string, int>> {
 protected:
  std::string mode() const { return std::get<0>(GetParam()); }
  int version() const override { return std::get<1>(GetParam()); }
};

std::string ModeAndVersion(const testing::TestParamInfo<std::tuple<std::string, int>>& test) {
  const auto& [mode, version] = test.param;
  return (mode == "rcu-peek" ? "Peek_" : "Search_") + fixtures::VersionName(version);
}

INSTANTIATE_TEST_SUITE_P(Modes, WarmWalk,
                         testing::Combine(testing::Values("rcu-peek", "rcu-search"),
                                          fixtures::AllVersions()),
                         ModeAndVersion);

TEST_P(WarmWalk, NoRpcNoLockNoAllocationNoSharedStore) {
  auto client = Mount("actimeo=600&walk=" + mode());
  ASSERT_NE(client, nullptr);
  MakeDirectory("a/b/c");
  MakeLink("b/c", "a/link");
  constexpr int kFiles = 100;
  std::vector<std::string> paths;
  for (int i = 0; i < kFiles; ++i) {
    const std::string name = "file" + std::to_string(i);
    MakeFile("a/b/c/" + name);
    paths.push_back(Path("a/b/c/" + name));
    paths.push_back(Path("a/link/../c/" + name));
    paths.push_back(Path("a/b/c/missing" + std::to_string(i)));
  }
  std::string link = Path("a/link");
  std::array<char, 64> text;
  auto look = [&](std::array<char, 64>& into) {
    int found = 0;
    for (const std::string& path : paths) {
      found += client->Stat(path, root_).has_value();
      found += client->Stat(path, root_, {.no_follow = true}).has_value();
      found += client->Access(path, kMayRead, root_) == std::errc{};
    }
    found += client->ReadLink(link, into, root_).has_value();
    return found;
  };
  const int expected = look(text);
  EXPECT_EQ(expected, 6 * kFiles + 1);
  ASSERT_EQ(look(text), expected);
  const Stats before = client->stats();

  constexpr int kThreads = 4, kRounds = 20;
  std::atomic<int> wrong{0};
  std::atomic<uint64_t> allocated{0}, locked{0};
  std::atomic<int> ready{0};
  std::atomic<bool> frozen{false};
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&] {
      std::array<char, 64> own;
      wrong += look(own) != expected;  // registers the thread, takes its counters' index
      ready.fetch_add(1);
      frozen.wait(false);
      const uint64_t allocations_before = allocations;
      const uint64_t locks_before = rcu::ThreadLockCount();
      for (int round = 0; round < kRounds; ++round) wrong += look(own) != expected;
      allocated += allocations - allocations_before;
      locked += rcu::ThreadLockCount() - locks_before;
    });
  }
  while (ready < kThreads) std::this_thread::yield();
  // From here on a store to a dentry, an inode, an access entry, a credential or a hash chain is
  // fatal.
  rcu::PageRegion::FreezeAll();
  frozen = true;
  frozen.notify_all();
  for (auto& thread : threads) thread.join();
  rcu::PageRegion::ThawAll();

  EXPECT_EQ(wrong, 0);
  EXPECT_EQ(allocated, 0u);
  EXPECT_EQ(locked, 0u);
  const Stats after = client->stats();
  EXPECT_EQ(after.rpcs, before.rpcs);
  EXPECT_EQ(after.ref_walks, before.ref_walks);
  const uint64_t calls = paths.size() * 3 + 1;
  EXPECT_EQ(after.rcu_walks - before.rcu_walks, calls * kThreads * (kRounds + 1));
}

// The check itself can fail: a name not seen before has to be written into the frozen memory.
TEST_P(WarmWalk, AStoreToFrozenMemoryIsFatal) {
  auto client = Mount("actimeo=600&walk=" + mode());
  ASSERT_NE(client, nullptr);
  EXPECT_FALSE(client->Stat(Path("known"), root_).has_value());
  EXPECT_EXIT(
      {
        rcu::PageRegion::FreezeAll();
        client->DropCaches();
        std::_Exit(0);
      },
      testing::KilledBySignal(SIGSEGV), "");
}

}  // namespace
}  // namespace nfswalk
