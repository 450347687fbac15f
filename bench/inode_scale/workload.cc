#include "bench/inode_scale/workload.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <utility>

#include "nfsclient/protocol/types.h"
#include "rcu/mix64.h"

namespace nfswalk::icache {
struct InodeInternals {
  static void Store(Inode& inode, const protocol::Attributes& attributes) {
    inode.StoreAttributes(attributes);
  }
};
}  // namespace nfswalk::icache

namespace nfswalk::bench {

namespace {

class FileId final : public icache::InodeIdentity {
 public:
  explicit FileId(uint64_t fileid) : fileid_(fileid) {}
  bool Test(const icache::Inode& inode) const override { return inode.fileid == fileid_; }
  std::errc Set(icache::Inode& inode) override {
    inode.fileid = fileid_;
    return {};
  }

 private:
  const uint64_t fileid_;
};

// Ends the process: no failure here leaves a benchmark that could continue.
[[noreturn]] void Fail(const char* what) {
  std::fprintf(stderr, "inode_scale: %s\n", what);
  std::exit(EXIT_FAILURE);
}

icache::InodeRef LookUp(icache::IgetFamily& cache, SyntheticFiles& source, uint64_t fileid,
                        Visits& visits) {
  FileId identity(fileid);
  icache::IgetResult found = cache.Iget5Rcu(source.HashOf(cache, fileid), identity);
  if (!found) Fail("no memory for an inode");
  if (found->is_new) {
    source.Fill(*found->inode);
    cache.UnlockNew(*found->inode);
  } else {
    ++visits.hits;
  }
  return std::move(found->inode);
}

uint64_t ReadAttributes(const icache::Inode& inode) {
  protocol::Attributes attributes;
  inode.LoadAttributes(attributes);
  return attributes.fileid + attributes.mode;
}

void Create(icache::IgetFamily& cache, SyntheticFiles& source, uint64_t fileid) {
  icache::InodeRef inode = cache.NewInode();
  if (!inode) Fail("no memory for an inode");
  inode->fileid = fileid;
  if (cache.InsertLocked(*inode) != std::errc{}) Fail("a file to be created is there already");
  source.Fill(*inode);
  cache.UnlockNew(*inode);
}

void ChangeMode(icache::IgetFamily& cache, icache::Inode& inode) {
  {
    std::lock_guard lock(inode.lock);
    protocol::Attributes attributes;
    inode.LoadAttributes(attributes);
    attributes.mode ^= 0222;
    inode.attributes_seq.WriteBegin();
    icache::InodeInternals::Store(inode, attributes);
    inode.attributes_seq.WriteEnd();
  }
  cache.MarkDirty(inode);
}

}  // namespace

SyntheticFiles::SyntheticFiles(Work work, bool keep_index, size_t initial_buckets,
                               size_t chain_load)
    : work_(work),
      index_(keep_index ? std::make_shared<icache::InodeIndex>(initial_buckets, chain_load)
                        : nullptr) {}

void SyntheticFiles::Fill(icache::Inode& inode) {
  if (work_.fill_ns > 0) {
    std::unique_lock lock(fill_lock_, std::defer_lock);
    if (work_.under_one_lock) lock.lock();
    const auto end = std::chrono::steady_clock::now() + std::chrono::nanoseconds(work_.fill_ns);
    while (std::chrono::steady_clock::now() < end) {
    }
  }
  protocol::Attributes attributes{};
  attributes.type = protocol::FileType::kRegular;
  attributes.mode = 0644;
  attributes.nlink = 1;
  attributes.fileid = inode.fileid;
  icache::InodeInternals::Store(inode, attributes);
}

uint64_t SyntheticFiles::HashOf(const icache::IgetFamily& cache, uint64_t fileid) const {
  constexpr int kStride = 20, kHalf = 32;
  constexpr uint64_t kSlotBits = 15;  // as IgetFamily::HashOf(); above them buckets count
  const uint64_t hash = cache.HashOf(fileid);
  switch (work_.keys) {
    case Keys::kStrided:
      return cache.HashOf(fileid << kStride);
    case Keys::kOneLock:
      return (hash / icache::kArrayLocks & ~kSlotBits) | (hash & kSlotBits);
    case Keys::kOneChain:
      return (hash >> kHalf & ~kSlotBits) | 1;
    default:
      return hash;
  }
}

void VisitFile(Workload workload, icache::IgetFamily& cache, SyntheticFiles& source,
               uint64_t fileid, Visits& visits) {
  if (workload == Workload::kCreate) return Create(cache, source, fileid);
  icache::InodeRef inode = LookUp(cache, source, fileid, visits);
  switch (workload) {
    case Workload::kChmod:
      return ChangeMode(cache, *inode);
    case Workload::kUnlink:
      return inode->flags.store(icache::kUnlinked, std::memory_order_relaxed);
    case Workload::kBulkstat:
      MarkDontCache(*inode);
      [[fallthrough]];
    default:
      visits.checksum += ReadAttributes(*inode);
  }
}

Visits RunWorkload(Workload workload, icache::IgetFamily& cache, SyntheticFiles& source,
                   uint64_t thread, uint64_t files, uint64_t hit_percent) {
  Visits visits;
  // Inodes that were looked up since get a second chance, but none of this window is evicted.
  const uint64_t window = std::max<uint64_t>(files / 4, 1);
  uint64_t next = files;
  for (uint64_t i = 0; i < files * VisitsOf(workload); ++i) {
    uint64_t file = i % files;
    if (workload == Workload::kPressure) {
      const uint64_t random = rcu::Mix64(i + 1);
      file =
          (random >> 32) % 100 < hit_percent ? next - 1 - (random & UINT32_MAX) % window : next++;
    }
    VisitFile(workload, cache, source, FirstFileOf(thread) + file, visits);
  }
  return visits;
}

}  // namespace nfswalk::bench
