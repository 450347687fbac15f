#include "bench/inode_scale/bundle_model.h"

#include <algorithm>
#include <cmath>
#include <cstdint>

namespace nfswalk::bench {

namespace {

constexpr size_t kHash = 0;
constexpr size_t kList = 1;

int64_t Rounded(double ns) { return static_cast<int64_t>(std::llround(ns)); }

LockClass HashLock(icache::HashPolicy policy) {
  switch (policy) {
    case icache::HashPolicy::kGlobal:
    case icache::HashPolicy::kGlobalRcu:
      return {.name = "hash", .instances = LockInstances::kGlobal};
    case icache::HashPolicy::kArray:
    case icache::HashPolicy::kArrayRcu:
      return {.name = "hash", .instances = LockInstances::kSharded, .shards = icache::kArrayLocks};
    default:
      // A lock for each chain, or for each of many shards: two threads hardly ever meet.
      return {.name = "hash", .instances = LockInstances::kSharded, .shards = 1 << 16};
  }
}

}  // namespace

QueueingModel BulkstatModel(const icache::InodePolicy& policy, const HoldTimes& times,
                            double inode_ns, size_t files_per_thread) {
  QueueingModel model;
  model.locks = {
      HashLock(policy.hash),
      {.name = "list",
       .instances = policy.list == icache::ListPolicy::kSingle ? LockInstances::kGlobal
                                                               : LockInstances::kPrivate}};
  std::vector<Step> holds;
  if (!icache::FirstLookupIsRcu(policy.hash)) {
    holds.push_back(Step::Hold(kHash, Rounded(times.hash_find)));
  }
  holds.push_back(Step::Hold(kHash, Rounded(times.hash_insert)));
  if (policy.list != icache::ListPolicy::kNone) {
    holds.push_back(Step::Hold(kList, Rounded(times.list)));
    holds.push_back(Step::Hold(kList, Rounded(times.list)));
  }
  holds.push_back(Step::Hold(kHash, Rounded(times.hash_unhash)));

  double held_ns = 0;
  for (const Step& hold : holds) held_ns += static_cast<double>(hold.ns);
  // The holds were measured by themselves, over all inodes at once, which finds less in the
  // processor's caches than one inode that passes through: they cannot take longer than all of it.
  if (held_ns > inode_ns) {
    for (Step& hold : holds) {
      hold.ns = Rounded(static_cast<double>(hold.ns) * inode_ns / held_ns);
    }
  }
  const double compute_ns = std::max(0.0, inode_ns - held_ns);
  const int64_t part_ns = Rounded(compute_ns / static_cast<double>(holds.size()));
  for (const Step& hold : holds) {
    model.steps.push_back(Step::Compute(part_ns));
    model.steps.push_back(hold);
  }
  model.operations = files_per_thread;
  model.transfer_ns = Rounded(times.transfer);
  return model;
}

}  // namespace nfswalk::bench
