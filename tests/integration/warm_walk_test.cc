// A warm call makes no RPC, takes no lock, allocates nothing and stores to no shared memory; each
// is checked by machine.

#include <array>
#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <tuple>
#include <utility>
#include <vector>

#include "nfsclient/nfs3/nfs3.h"
#include "nfsclient/nfs4/nfs4.h"
#include "nfsclient/walk/rcu_walk.h"
#include "rcu/defer.h"
#include "rcu/fork.h"
#include "rcu/lock_order.h"
#include "rcu/page_region.h"
#include "rcu/read_guard.h"
#include "rcu/thread_index.h"
#include "tests/fixtures/access_caches.h"
#include "tests/fixtures/client_internals.h"
#include "tests/fixtures/faulty_protocol.h"
#include "tests/fixtures/freezable_heap.h"
#include "tests/fixtures/frozen_globals.h"
#include "tests/fixtures/mounted_export.h"
#include "tests/fixtures/thread_calls.h"
#include "tests/integration/warm_tree.h"

namespace nfswalk {
namespace {

using fixtures::FaultyProtocol;
using fixtures::FreezableHeap;
using fixtures::MountedExport;

constexpr int kThreads = 4;
constexpr std::chrono::milliseconds kWalkingTime{2000};

// The sanitizer does not model fences, so that rcu/seqcount.h stores where it else loads.
#if defined(__SANITIZE_THREAD__)
constexpr bool kStoresBySanitizer = true;
constexpr int kDirectories = 1;  // it is tens of times slower
#else
constexpr bool kStoresBySanitizer = false;
constexpr int kDirectories = WarmTree::kDirectories;
#endif

// Coverage counts lines in the libraries' own variables.
extern "C" [[gnu::weak]] void __gcov_init(void*);

// Makes fatal, while it lives, a store to a dentry, an inode, an access entry, a credential, a hash
// chain, a link text, memory of the mount from operator new except its counters, or a variable of
// the client's libraries.
class Frozen {
 public:
  Frozen() {
    rcu::Barrier();  // deferred callbacks may store
    if (kStoresBySanitizer) return;
    rcu::PageRegion::FreezeAll();
    if (__gcov_init != nullptr) return;
    globals_.emplace(kLibraries);
    EXPECT_GE(globals_->libraries(), 20u) << "is it linked statically?";
  }
  ~Frozen() {
    globals_.reset();
    rcu::PageRegion::ThawAll();
  }
  Frozen(const Frozen&) = delete;
  Frozen& operator=(const Frozen&) = delete;

  static const std::vector<const char*> kLibraries;

 private:
  std::optional<fixtures::FrozenGlobals> globals_;
};
const std::vector<const char*> Frozen::kLibraries{"/librcu_", "/libsunrpc_Uauth_",
                                                  "/libaccess_Ucache_", "/libnfsclient_"};

class WarmWalk : public MountedExport,
                 public testing::WithParamInterface<std::tuple<std::string, int>> {
 protected:
  struct Tally {
    std::atomic<uint64_t> walks{0}, wrong{0}, allocations{0}, pthread_locks{0}, spin_locks{0};
  };

  void SetUp() override {
    MountedExport::SetUp();
    if (IsSkipped()) return;
    tree_ = std::make_unique<WarmTree>(Backing(""), Path(""), kDirectories);
    ASSERT_EQ(tree_->paths().size(), size_t{kDirectories} * 1000);
    client_ = MountCounted();
    ASSERT_NE(client_, nullptr);
  }

  std::string mode() const { return std::get<0>(GetParam()); }
  int version() const override { return std::get<1>(GetParam()); }
  Client& client() { return *client_; }
  const WarmTree& tree() const { return *tree_; }

  // Walks all paths at least once, then until `time` has passed, as `who(thread)`, with everything
  // frozen.
  void WalkFrozen(const std::function<const WarmIdentity&(int thread)>& who,
                  std::chrono::milliseconds time, Tally& tally);

  // Expects that since `before` there were only the walks of `tally`, and those RCU-walks.
  void ExpectNothingButRcuWalks(const Stats& before, uint64_t calls_before, const Tally& tally);

  uint64_t calls() const { return protocol_->calls(); }

 private:
  std::unique_ptr<Client> MountCounted() {
    fixtures::NfsServer::NetworkScope scope(server());
    auto options = ParseMountUrl(server().Url("actimeo=600&walk=" + mode(), version()));
    if (!options) return nullptr;
    auto connected = version() == 4
                         ? protocol::Nfs4::ConnectNfs4(options->server, options->transport)
                         : protocol::Nfs3::ConnectNfs3(options->server, options->transport);
    if (!connected) return nullptr;
    auto counted = std::make_unique<FaultyProtocol>(std::move(*connected));
    protocol_ = counted.get();
    FreezableHeap::Scope heap;
    auto client = Client::MountOver(std::move(counted), *options);
    return client ? std::move(*client) : nullptr;
  }

  void WalkUntil(const WarmIdentity& who, std::chrono::steady_clock::time_point deadline,
                 Tally& tally);

  FaultyProtocol* protocol_ = nullptr;  // the client's
  std::unique_ptr<WarmTree> tree_;
  std::unique_ptr<Client> client_;
};

// Walks the way of a change, up to the reference (WALK-29). Returns whether that needs none.
bool WalksToParent(nfs::Superblock& superblock, const WarmIdentity& who, const std::string& path) {
  walk::PathBuffer rest;
  if (rest.Assign(path) != std::errc{}) return false;
  const walk::WalkStart start = walk::AtRoot(superblock);
  const walk::WalkFlags flags;
  const rcu::ReadGuard guard;
  walk::RcuWalk walk(superblock, start, rest, who.credential, flags, nullptr, nullptr);
  const walk::RcuOutcome outcome = walk.ResolveParent();
  return (outcome.ok() ? walk.Confirm() : outcome).need == NeedRef::kNone;
}

void WarmWalk::WalkUntil(const WarmIdentity& who, std::chrono::steady_clock::time_point deadline,
                         Tally& tally) {
  const uint64_t allocations = fixtures::ThreadAllocations();
  const uint64_t pthread_locks = fixtures::ThreadPthreadLocks();
  const uint64_t spin_locks = rcu::ThreadLockCount();
  uint64_t walks = 0, wrong = 0;
  for (size_t round = 0; round == 0 || std::chrono::steady_clock::now() < deadline; ++round) {
    for (size_t i = 0; i < tree().paths().size(); ++i) {
      if (round > 0 && i % 128 == 0 && std::chrono::steady_clock::now() >= deadline) break;
      const WarmPath& target = tree().paths()[i];
      wrong += static_cast<uint64_t>(tree().Look(client(), who, target, i + round));
      wrong += WalksToParent(ClientInternals::SuperblockOf(client()), who, target.path) ? 0 : 1;
      walks += WarmTree::kCallsPerLook;
    }
  }
  tally.allocations += fixtures::ThreadAllocations() - allocations;
  tally.pthread_locks += fixtures::ThreadPthreadLocks() - pthread_locks;
  tally.spin_locks += rcu::ThreadLockCount() - spin_locks;
  tally.walks += walks;
  tally.wrong += wrong;
}

void WarmWalk::WalkFrozen(const std::function<const WarmIdentity&(int thread)>& who,
                          std::chrono::milliseconds time, Tally& tally) {
  std::atomic<int> ready{0}, done{0};
  std::atomic<bool> frozen{false};
  const auto await_all = [](const std::atomic<int>& count) {
    for (int now = count; now < kThreads; now = count) count.wait(now);
  };
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      // A thread's first walk registers it with RCU and allocates the index of its counters.
      tally.wrong +=
          static_cast<uint64_t>(tree().Look(client(), who(t), tree().paths().front(), 0));
      tally.walks += WarmTree::kCallsPerLook;
      ready.fetch_add(1);
      ready.notify_all();
      frozen.wait(false);
      WalkUntil(who(t), std::chrono::steady_clock::now() + time, tally);
      done.fetch_add(1);
      done.notify_all();
      frozen.wait(true);  // a thread's exit releases its index
    });
  }
  await_all(ready);
  const size_t mapped = rcu::PageRegion::mapped_bytes();
  {
    Frozen memory;
    frozen = true;
    frozen.notify_all();
    await_all(done);
  }
  frozen = false;
  frozen.notify_all();
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(rcu::PageRegion::mapped_bytes(), mapped);
}

void WarmWalk::ExpectNothingButRcuWalks(const Stats& before, uint64_t calls_before,
                                        const Tally& tally) {
  EXPECT_EQ(tally.wrong, 0u);
  EXPECT_EQ(tally.allocations, 0u);
  EXPECT_EQ(tally.pthread_locks, 0u);
  EXPECT_EQ(tally.spin_locks, 0u);
  const Stats after = client().stats();
  EXPECT_EQ(calls(), calls_before);
  EXPECT_EQ(after.rpcs, before.rpcs);
  EXPECT_EQ(after.ref_walks, before.ref_walks);
  EXPECT_EQ(after.need_ref, before.need_ref);
  EXPECT_EQ(after.locked_hits, before.locked_hits);
  EXPECT_EQ(after.rcu_walks - before.rcu_walks, tally.walks);
  EXPECT_GE(tally.walks, kThreads * tree().paths().size() * WarmTree::kCallsPerLook);
}

std::string ModeAndVersion(const testing::TestParamInfo<std::tuple<std::string, int>>& test) {
  const auto& [mode, version] = test.param;
  return (mode == "rcu-peek" ? "Peek_" : "Search_") + fixtures::VersionName(version);
}

class SearchWarmWalk : public WarmWalk {};
INSTANTIATE_TEST_SUITE_P(Modes, SearchWarmWalk,
                         testing::Combine(testing::Values("rcu-search"), fixtures::AllVersions()),
                         ModeAndVersion);
class PeekWarmWalk : public WarmWalk {};
INSTANTIATE_TEST_SUITE_P(Modes, PeekWarmWalk,
                         testing::Combine(testing::Values("rcu-peek"), fixtures::AllVersions()),
                         ModeAndVersion);

// WALK-20.
TEST_P(SearchWarmWalk, FourConcurrentCredentialsCostNoRpcLockAllocationOrSharedStore) {
  for (const WarmIdentity& who : tree().identities()) ASSERT_EQ(tree().Warm(client(), who), 0);
  // Each of the counts below does count.
  EXPECT_GT(calls(), tree().paths().size() / 10);
  EXPECT_GT(fixtures::ThreadAllocations(), tree().paths().size() / 10);
  EXPECT_GT(fixtures::ThreadPthreadLocks(), tree().paths().size() / 10);
  EXPECT_GT(rcu::ThreadLockCount(), tree().paths().size() / 10);

  const Stats before = client().stats();
  const uint64_t calls_before = calls();
  Tally tally;
  WalkFrozen([&](int t) -> const WarmIdentity& { return tree().identities()[t]; }, kWalkingTime,
             tally);
  ExpectNothingButRcuWalks(before, calls_before, tally);
  // Three of the four credentials were nowhere the newest entry.
  EXPECT_GT(client().stats().search_hits - before.search_hits, tally.walks / 2);
}

// rcu-peek finds the newest access entry of an inode without its lock.
TEST_P(PeekWarmWalk, TheNewestCredentialCostsNoRpcLockAllocationOrSharedStore) {
  for (const WarmIdentity& who : tree().identities()) ASSERT_EQ(tree().Warm(client(), who), 0);
  for (const WarmIdentity& who : tree().identities()) {
    ASSERT_EQ(tree().Warm(client(), who), 0);  // makes it the newest everywhere
    const Stats before = client().stats();
    const uint64_t calls_before = calls();
    Tally tally;
    WalkFrozen([&](int) -> const WarmIdentity& { return who; },
               kWalkingTime / tree().identities().size(), tally);
    ExpectNothingButRcuWalks(before, calls_before, tally);
    EXPECT_GT(client().stats().peek_hits - before.peek_hits, tally.walks / 2);
    EXPECT_EQ(client().stats().search_hits, before.search_hits);
  }
}

// Any other entry keeps RCU-walk and needs no RPC, but takes the inode's lock.
TEST_P(PeekWarmWalk, AnotherCredentialTakesALockAndSendsNoRpc) {
  const WarmIdentity& first = tree().identities().front();
  ASSERT_EQ(tree().Warm(client(), tree().unprivileged()), 0);
  ASSERT_EQ(tree().Warm(client(), first), 0);
  const Stats before = client().stats();
  const uint64_t calls_before = calls(), locks_before = rcu::ThreadLockCount();
  int wrong = 0;
  for (const WarmPath& target : tree().paths()) {
    wrong += tree().Look(client(), tree().unprivileged(), target, 0);
    wrong += tree().Look(client(), first, target, 0);
  }
  EXPECT_EQ(wrong, 0);
  const Stats after = client().stats();
  EXPECT_GT(after.locked_hits - before.locked_hits, 2 * tree().paths().size());
  EXPECT_GT(rcu::ThreadLockCount() - locks_before, 2 * tree().paths().size());
  EXPECT_EQ(after.ref_walks, before.ref_walks);
  EXPECT_EQ(calls(), calls_before);
}

// Negative tests of the check, one for each kind of frozen memory.
class FrozenMemoryWarmWalk : public WarmWalk {
 protected:
  static constexpr int kFaultedThere = 10, kFaultedElsewhere = 11;

  // Runs in a child process, which stands for the parent: freezes, stores, and exits with the
  // outcome.
  [[noreturn]] void Store(const void* begin, size_t size, const std::function<void()>& store) {
    nfs::Superblock& superblock = ClientInternals::SuperblockOf(client());
    rcu::internal::in_forked_child = false;
    superblock.shut_down = false;
    superblock.walks_under_rcu = true;
    expected_begin_ = reinterpret_cast<uintptr_t>(begin);
    expected_size_ = size;
    struct sigaction action {};
    action.sa_flags = SA_SIGINFO;
    action.sa_sigaction = [](int, siginfo_t* info, void*) {
      const auto at = reinterpret_cast<uintptr_t>(info->si_addr);
      std::_Exit(at - expected_begin_ < expected_size_ ? kFaultedThere : kFaultedElsewhere);
    };
    sigaction(SIGSEGV, &action, nullptr);
    rcu::PageRegion::FreezeAll();
    const fixtures::FrozenGlobals globals(__gcov_init == nullptr ? Frozen::kLibraries
                                                                 : std::vector<const char*>());
    store();
    std::_Exit(0);
  }

  // Writes a byte of `object` with the value it has.
  template <class T>
  void ExpectFrozen(const T* object) {
    ASSERT_NE(object, nullptr);
    EXPECT_EXIT(Store(object, sizeof *object,
                      [object] {
                        auto* const byte = reinterpret_cast<volatile char*>(const_cast<T*>(object));
                        *byte = *byte;
                      }),
                testing::ExitedWithCode(kFaultedThere), "");
  }

  vfs::DentryRef Find(std::string_view target) {
    nfs::Superblock& superblock = ClientInternals::SuperblockOf(client());
    vfs::DentryRef at = superblock.root.Copy();
    std::string path(target);
    path += '\0';
    for (const char* rest = path.c_str(); at && *rest != '\0';) {
      const vfs::Name name = vfs::ScanName(rest, at.get());
      at = superblock.dentries.Lookup(*at, name);
      rest = name.data + name.length;
      if (*rest == '/') ++rest;
    }
    return at;
  }

 private:
  static inline uintptr_t expected_begin_ = 0;
  static inline size_t expected_size_ = 0;
};
INSTANTIATE_TEST_SUITE_P(Modes, FrozenMemoryWarmWalk,
                         testing::Combine(testing::Values("rcu-peek"), testing::Values(3)),
                         ModeAndVersion);

TEST_P(FrozenMemoryWarmWalk, AStoreToAnythingAWalkerReadsIsFatal) {
  const WarmIdentity& who = tree().identities().front();
  ASSERT_EQ(tree().Warm(client(), who), 0);
  nfs::Superblock& superblock = ClientInternals::SuperblockOf(client());
  const vfs::DentryRef long_name = Find(Path("open/d0/n0" + std::string(100, 'x')));
  const vfs::DentryRef link = Find(Path("open/d0/n3"));
  ASSERT_TRUE(long_name);
  ASSERT_TRUE(link);
  const auto credential = superblock.credentials.Lookup(who.credential);
  ASSERT_TRUE(credential);
  rcu::Barrier();

  ExpectFrozen(long_name.get());
  ExpectFrozen(long_name->long_name.load());
  ExpectFrozen(link.inode());
  ExpectFrozen(link.inode()->link_body.load());
  ExpectFrozen(credential->get());
  ExpectFrozen(&superblock);
}

// A chain's lock is a bit in its head.
TEST_P(FrozenMemoryWarmWalk, AStoreToAHashTableIsFatal) {
  ASSERT_EQ(tree().Warm(client(), tree().identities().front()), 0);
  nfs::Superblock& superblock = ClientInternals::SuperblockOf(client());
  const vfs::DentryRef dentry = Find(Path("open/d0"));
  ASSERT_TRUE(dentry);
  EXPECT_EXIT(Store(dentry.get(), sizeof *dentry, [&] { superblock.dentries.Drop(*dentry); }),
              testing::ExitedWithCode(kFaultedElsewhere), "");
  icache::Inode& inode = *dentry.inode();
  const auto pass_over = [](icache::Inode&) { return icache::IgetFamily::Take::kNext; };
  EXPECT_EXIT(Store(&inode, sizeof inode,
                    [&] { ClientInternals::InodesOf(client()).FindNoWait(inode.hash, pass_over); }),
              testing::ExitedWithCode(kFaultedElsewhere), "");
}

// A cache outside of frozen memory, whose entries are frozen.
TEST_P(FrozenMemoryWarmWalk, AStoreToAnAccessEntryIsFatal) {
  nfs::Superblock& superblock = ClientInternals::SuperblockOf(client());
  access_cache::LoneAccessCache cache;
  const auto older = superblock.credentials.Lookup(tree().identities().front().credential);
  const auto newer = superblock.credentials.Lookup(tree().unprivileged().credential);
  ASSERT_TRUE(older && newer);
  cache.Insert(*older, 1, 1, cache.epoch(), superblock.access_lru);
  cache.Insert(*newer, 2, 1, cache.epoch(), superblock.access_lru);
  const access_cache::AccessAge fresh{2, 1000};
  EXPECT_EXIT(Store(&cache, sizeof cache, [&] { (void)cache.SearchLocked(older->get(), fresh); }),
              testing::ExitedWithCode(kFaultedElsewhere), "");
  EXPECT_EQ(cache.SearchLocked(older->get(), fresh), 1u);  // a store outside of frozen memory
  cache.Clear(superblock.access_lru);
}

// A thread's first count allocates an index, which stores to a variable of rcu/.
TEST_P(FrozenMemoryWarmWalk, AStoreToAGlobalIsFatal) {
  if (kStoresBySanitizer || __gcov_init != nullptr) GTEST_SKIP() << "globals are not frozen";
  EXPECT_EXIT(Store(nullptr, 0, [] { std::thread([] { (void)rcu::ThreadIndex(); }).join(); }),
              testing::ExitedWithCode(kFaultedElsewhere), "");
}

TEST_P(FrozenMemoryWarmWalk, AColdCallIsFatal) {
  const WarmIdentity& newest = tree().identities().front();
  ASSERT_EQ(tree().Warm(client(), tree().unprivileged()), 0);
  ASSERT_EQ(tree().Warm(client(), newest), 0);
  rcu::Barrier();
  const WarmPath& target = tree().paths().front();
  const auto look = [&](const WarmIdentity& who) {
    return [&] { (void)client().Stat(target.path, who.credential, {.cached = true}); };
  };
  EXPECT_EXIT(Store(nullptr, 0, look(newest)),
              testing::ExitedWithCode(kStoresBySanitizer ? kFaultedElsewhere : 0), "");
  EXPECT_EXIT(Store(nullptr, 0, look(tree().unprivileged())),
              testing::ExitedWithCode(kFaultedElsewhere), "");
  EXPECT_EXIT(Store(nullptr, 0, [&] { client().DropCaches(); }),
              testing::ExitedWithCode(kFaultedElsewhere), "");
}

}  // namespace
}  // namespace nfswalk
