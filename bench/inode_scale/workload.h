// workload: what the letters' workloads do to the inode cache, over files that are made up as they
// are read. Each thread has its own: thread t has the file ids from FirstFileOf(t) on.
#ifndef NFSWALK_BENCH_INODE_SCALE_WORKLOAD_H_
#define NFSWALK_BENCH_INODE_SCALE_WORKLOAD_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>
#include <system_error>

#include "bench/inode_scale/workload_name.h"
#include "nfsclient/icache/iget_family.h"
#include "nfsclient/icache/inode_index.h"
#include "rcu/spin_lock.h"

namespace nfswalk::bench {

// Spreads or concentrates the files of a workload, except kCreate, in the hash table.
enum class Keys : uint8_t {
  kSpread,    // file ids in a row, as files created together have
  kStrided,   // file ids whose low bits are alike: a choice without knowledge of the cache's seed
  kOneLock,   // with it: chains of one lock of the 32 of H5 and H6
  kOneChain,  // with it: one chain, except H7's
};
inline constexpr auto kKeysNames =
    std::to_array<std::string_view>({"spread", "strided", "one-lock", "one-chain"});

// The file system behind the cache. Thread safety: all functions.
class SyntheticFiles final : public icache::InodeOperations {
 public:
  struct Work {
    uint64_t fill_ns = 0;         // to read one inode
    bool under_one_lock = false;  // as in a file system that is itself the bottleneck
    Keys keys = Keys::kSpread;
  };

  SyntheticFiles(Work work, bool keep_index, size_t initial_buckets, size_t chain_load);

  // Fills in a new inode, taking fill_ns.
  void Fill(icache::Inode& inode);
  // Returns the hash that the file is looked up by.
  uint64_t HashOf(const icache::IgetFamily& cache, uint64_t fileid) const;

  std::shared_ptr<icache::InodeIndex> index() override { return index_; }
  bool can_iterate() const override { return index_ != nullptr; }
  std::errc IterInodes(const icache::IterOptions& options,
                       const icache::InodeVisitor& visit) override {
    return index_->IterInodes(options, visit);
  }
  std::errc IterInodesUnsafe(const icache::UnsafeInodeVisitor& visit) override {
    return index_->IterInodesUnsafe(visit);
  }

 private:
  const Work work_;
  const std::shared_ptr<icache::InodeIndex> index_;
  rcu::SpinLock fill_lock_;
};

// How often a workload visits each file, or kPressure as many. Warm visits are so short that one
// round would time the start of the threads.
constexpr uint64_t VisitsOf(Workload workload) {
  return workload == Workload::kWarm || workload == Workload::kPressure ? 20 : 1;
}

constexpr uint64_t FirstFileOf(uint64_t thread) { return thread << 40; }

struct Visits {
  uint64_t checksum = 0;  // of what was read
  uint64_t hits = 0;      // lookups that found the inode
};

// Visits one file.
void VisitFile(Workload workload, icache::IgetFamily& cache, SyntheticFiles& source,
               uint64_t fileid, Visits& visits);

// Visits the first `files` files of `thread` in order, VisitsOf(workload) times. kPressure, after a
// kWalk, visits new files, and `hit_percent` times in 100 one of the latest quarter of `files`.
Visits RunWorkload(Workload workload, icache::IgetFamily& cache, SyntheticFiles& source,
                   uint64_t thread, uint64_t files, uint64_t hit_percent);

}  // namespace nfswalk::bench

#endif  // NFSWALK_BENCH_INODE_SCALE_WORKLOAD_H_
