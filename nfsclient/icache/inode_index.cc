#include "nfsclient/icache/inode_index.h"

#include <array>
#include <cstdint>
#include <memory>
#include <new>
#include <span>

#include "nfsclient/icache/iget_family.h"
#include "rcu/read_guard.h"

namespace nfswalk::icache {

namespace {

constexpr size_t kBatch = 32;

// Inodes of one or a few buckets. Add() runs under a bucket's lock and does not allocate: inodes
// that do not fit are counted, and the bucket is visited again with more space. Only a bucket of
// more than 4 * kBatch inodes allocates.
class Batch {
 public:
  bool has_room() const { return size_ < room_.size(); }
  bool full() const { return size_ >= kBatch; }
  bool overflowed() const { return overflow_ > 0; }
  void Add(Inode& inode) {
    if (has_room()) {
      room_[size_++] = &inode;
    } else {
      ++overflow_;
    }
  }
  std::span<Inode* const> inodes() const { return room_.first(size_); }

  // Throws std::bad_alloc.
  void Clear() {
    const size_t wanted = size_ + 2 * overflow_;
    overflow_ = 0;
    size_ = 0;
    if (wanted <= room_.size()) return;
    more_ = std::make_unique<Inode*[]>(wanted);
    room_ = {more_.get(), wanted};
  }

 private:
  std::array<Inode*, 4 * kBatch> own_;
  std::unique_ptr<Inode*[]> more_;
  std::span<Inode*> room_{own_};
  size_t size_ = 0;
  size_t overflow_ = 0;
};

void PutAll(std::span<Inode* const> inodes) {
  for (Inode* inode : inodes) Put(inode);
}

// Whether the bucket after this one is visited too, under the same lock and in the same section:
// until the batch is full, and so many buckets were visited, most of them empty in a large table.
auto MoreBuckets(const Batch& batch) {
  constexpr size_t kBuckets = 1024;
  return [&batch, visited = size_t{0}]() mutable { return !batch.full() && ++visited < kBuckets; };
}

}  // namespace

InodeIndex::InodeIndex(size_t initial_buckets, size_t max_load)
    : StripedInodeTable(initial_buckets, max_load, kShards) {}

std::errc InodeIndex::IterInodes(const IterOptions& options, const InodeVisitor& visit) try {
  std::expected<IterStep, std::errc> step = IterStep::kNext;
  Batch batch;
  uint64_t cursor = 0;
  bool again;
  do {
    const uint64_t next = VisitInOrder(
        cursor,
        [&](Inode& inode) {
          if (!batch.has_room() || IgetFamily::IterGrab(inode, options)) batch.Add(inode);
        },
        MoreBuckets(batch));
    again = batch.overflowed();
    if (!again) {
      cursor = next;
      for (Inode* inode : batch.inodes()) {
        if (step == IterStep::kNext) step = visit(*inode);
      }
    }
    PutAll(batch.inodes());
    batch.Clear();
  } while ((cursor != 0 || again) && step == IterStep::kNext);
  return step ? std::errc{} : step.error();
} catch (const std::bad_alloc&) {
  return std::errc::not_enough_memory;
}

std::errc InodeIndex::IterInodesUnsafe(const UnsafeInodeVisitor& visitor) try {
  IterStep step = IterStep::kNext;
  Batch batch;
  uint64_t cursor = 0;
  bool again;
  do {
    {
      rcu::ReadGuard memory_stays;
      const uint64_t next = VisitInOrder(
          cursor, [&](Inode& inode) { batch.Add(inode); }, MoreBuckets(batch));
      again = batch.overflowed();
      if (!again) {
        cursor = next;
        for (Inode* inode : batch.inodes()) {
          if (step == IterStep::kNext) step = visitor.visit(*inode);
        }
      }
    }
    visitor.pause();
    batch.Clear();
  } while ((cursor != 0 || again) && step == IterStep::kNext);
  return {};
} catch (const std::bad_alloc&) {
  return std::errc::not_enough_memory;
}

}  // namespace nfswalk::icache
