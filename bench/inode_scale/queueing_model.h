// queueing_model: what more processors than this machine has would do, simulated
// (docs/inode_cache.md).
//
// N virtual processors run the same list of steps, `operations` times each. A step computes, which
// costs nobody else anything, or holds one lock. Locks are first come, first served, and of those
// who come at once the lowest processor is first. Hold and compute times are inputs, measured on
// one thread; the result follows from them alone.
//
// The model leaves out whatever makes a real machine slower: preempted holders, shared memory
// bandwidth, and contention for lines other than a lock's own. Holds do not nest. Its times are
// to be printed as simulated.
#ifndef NFSWALK_BENCH_INODE_SCALE_QUEUEING_MODEL_H_
#define NFSWALK_BENCH_INODE_SCALE_QUEUEING_MODEL_H_

#include <cstddef>
#include <cstdint>
#include <expected>
#include <span>
#include <string>
#include <vector>

namespace nfswalk::bench {

enum class LockInstances : uint8_t {
  kGlobal,   // one for all processors
  kPrivate,  // one for each processor: nobody ever waits for it
  kSharded,  // `shards` of them; each operation falls on one by chance, all its steps on the same
};

struct LockClass {
  std::string name;
  LockInstances instances = LockInstances::kGlobal;
  size_t shards = 1;  // kSharded only
};

struct Step {
  static constexpr size_t kNoLock = ~size_t{0};

  static constexpr Step Compute(int64_t ns) { return {.ns = ns}; }
  static constexpr Step Hold(size_t lock, int64_t ns) { return {.lock = lock, .ns = ns}; }

  size_t lock = kNoLock;  // an index into QueueingModel::locks
  int64_t ns = 0;
};

struct QueueingModel {
  std::vector<LockClass> locks = {};
  std::vector<Step> steps = {};  // of one operation
  size_t operations = 1;         // of each processor
  // Time that a lock is busy beyond the hold when it was last held by another processor.
  int64_t transfer_ns = 0;
  uint64_t seed = 1;  // of the choice of shards
};

// What became of one lock class, all its instances together.
struct LockUse {
  uint64_t acquisitions = 0;
  uint64_t waits = 0;      // acquisitions that found the lock taken
  uint64_t transfers = 0;  // acquisitions after another processor's
  int64_t busy_ns = 0;     // held or in transfer
  int64_t waited_ns = 0;   // of all processors together
  double utilisation = 0;  // part of the makespan that an instance was busy, on average, 0..1
  double busiest_utilisation = 0;  // that of the busiest instance
};

struct QueueingResult {
  int64_t makespan_ns = 0;              // until the last processor is done
  std::vector<int64_t> finish_ns = {};  // of each processor
  std::vector<LockUse> locks = {};      // in the order of QueueingModel::locks
};

// The same arguments give the same result, on any machine. The error says which input is wrong: no
// processor, a step of an unknown lock or of negative length, a class without shards, or so much
// work that its time exceeds 64 bits.
std::expected<QueueingResult, std::string> Simulate(const QueueingModel& model, size_t processors);

// The number of processors from which on a global lock sets the pace: time of an operation by
// itself over its time at the hottest global lock, hand-overs included. A single lock then
// saturates: T(n) = max(T(1), n * operations * time at that lock). Infinite without such
// a lock.
double SaturationOnset(const QueueingModel& model);

struct CurvePoint {
  size_t processors = 0;
  double seconds = 0;
};

struct SimulatedCurve {
  std::string name;
  double onset = 0;  // SaturationOnset()
  std::vector<CurvePoint> points = {};
};

std::expected<SimulatedCurve, std::string> SimulateCurve(std::string name,
                                                         const QueueingModel& model,
                                                         std::span<const size_t> processors);

}  // namespace nfswalk::bench

#endif  // NFSWALK_BENCH_INODE_SCALE_QUEUEING_MODEL_H_
