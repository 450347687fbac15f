#include "bench/inode_scale/workload.h"

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <utility>

#include "nfsclient/protocol/attributes.h"

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

icache::InodeRef LookUp(icache::IgetFamily& cache, SyntheticFiles& source, uint64_t fileid) {
  FileId identity(fileid);
  icache::IgetResult found = cache.Iget5Rcu(cache.HashOf(fileid), identity);
  if (!found) Fail("no memory for an inode");
  if (found->is_new) {
    source.Fill(*found->inode);
    cache.UnlockNew(*found->inode);
  }
  return std::move(found->inode);
}

uint64_t ReadAttributes(const icache::Inode& inode) {
  protocol::Attributes attributes;
  inode.attributes.Load(attributes);
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
    inode.attributes.Load(attributes);
    attributes.mode ^= 0222;
    inode.attributes_seq.WriteBegin();
    inode.attributes.Store(attributes);
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
  inode.attributes.Store(attributes);
}

uint64_t VisitFile(Workload workload, icache::IgetFamily& cache, SyntheticFiles& source,
                   uint64_t fileid) {
  if (workload == Workload::kCreate) {
    Create(cache, source, fileid);
    return 0;
  }
  icache::InodeRef inode = LookUp(cache, source, fileid);
  switch (workload) {
    case Workload::kChmod:
      ChangeMode(cache, *inode);
      return 0;
    case Workload::kUnlink:
      inode->flags.store(icache::kUnlinked, std::memory_order_relaxed);
      return 0;
    case Workload::kBulkstat:
      MarkDontCache(*inode);
      [[fallthrough]];
    default:
      return ReadAttributes(*inode);
  }
}

uint64_t RunWorkload(Workload workload, icache::IgetFamily& cache, SyntheticFiles& source,
                     uint64_t thread, uint64_t files) {
  uint64_t checksum = 0;
  for (uint64_t i = 0; i < files * VisitsOf(workload); ++i) {
    checksum += VisitFile(workload, cache, source, FirstFileOf(thread) + i % files);
  }
  return checksum;
}

}  // namespace nfswalk::bench
