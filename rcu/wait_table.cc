#include "rcu/wait_table.h"

#include <array>

#include "rcu/lock_order.h"
#include "rcu/mix64.h"
#include "rcu/sync_point.h"

namespace nfswalk::rcu {

auto WaitTable::BucketOf(const void* object) -> Bucket& {
  static constinit std::array<Bucket, size_t{1} << kBucketBits> buckets{};
  return buckets[Mix64(reinterpret_cast<uintptr_t>(object)) >> (64 - kBucketBits)];
}

auto WaitTable::Prepare(const void* object) -> Ticket {
  Bucket& bucket = BucketOf(object);
  bucket.waiters.fetch_add(1, std::memory_order_relaxed);
  return {&bucket, bucket.sequence.load(std::memory_order_relaxed)};
}

void WaitTable::Sleep(const Ticket& ticket) {
  AssertMaySleep();
  NFSWALK_SYNC_POINT("wait:before-sleep");
  ticket.bucket_->sequence.wait(ticket.sequence_, std::memory_order_relaxed);
  ticket.bucket_->waiters.fetch_sub(1, std::memory_order_relaxed);
}

void WaitTable::Wake(const void* object) {
  Bucket& bucket = BucketOf(object);
  if (bucket.waiters.load(std::memory_order_relaxed) == 0) return;
  bucket.sequence.fetch_add(1, std::memory_order_relaxed);
  bucket.sequence.notify_all();
}

}  // namespace nfswalk::rcu
