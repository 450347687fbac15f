#include "bench/inode_scale/queueing_model.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "fmt/format.h"

namespace nfswalk::bench {
namespace {

constexpr size_t kNobody = ~size_t{0};

// The finaliser of SplitMix64 (Steele, Lea, Flood 2014): every bit of the result depends on every
// bit of `bits`.
uint64_t Mix(uint64_t bits) {
  bits = (bits ^ (bits >> 30)) * 0xbf58476d1ce4e5b9;
  bits = (bits ^ (bits >> 27)) * 0x94d049bb133111eb;
  return bits ^ (bits >> 31);
}

size_t InstanceCount(const LockClass& lock, size_t processors) {
  switch (lock.instances) {
    case LockInstances::kGlobal:
      return 1;
    case LockInstances::kPrivate:
      return processors;
    case LockInstances::kSharded:
      return lock.shards;
  }
  return 0;
}

class Simulation {
 public:
  Simulation(const QueueingModel& model, size_t processors);
  QueueingResult Run();

 private:
  struct Instance {
    size_t last_holder = kNobody;
    int64_t free_ns = 0;
    int64_t busy_ns = 0;
  };
  // A step that others can delay, and what its processor does alone between the one before and it.
  struct SharedHold {
    int64_t lead_ns = 0;
    size_t lock = 0;
    int64_t hold_ns = 0;
  };
  // The next shared hold of a processor; `when_ns` is when it asks for the lock.
  struct Arrival {
    bool operator<(const Arrival& other) const {
      return when_ns != other.when_ns ? when_ns < other.when_ns : processor < other.processor;
    }
    int64_t when_ns = 0;
    size_t processor = 0;
    size_t hold = 0;
    size_t operation = 0;
  };

  Instance& InstanceFor(const Arrival& arrival, size_t lock);
  int64_t Serve(const Arrival& arrival);
  void SiftDown();
  void AddPrivateUse();
  void SetUtilisation();

  const QueueingModel& model_;
  const size_t processors_;
  std::vector<SharedHold> holds_;
  int64_t tail_ns_ = 0;  // after the last shared hold of an operation
  std::vector<size_t> first_instance_;
  std::vector<Instance> instances_;
  // A heap with the earliest arrival in front. Serving arrivals in the order of time makes every
  // lock first come, first served: whoever asks next asks later.
  std::vector<Arrival> arrivals_;
  QueueingResult result_;
};

Simulation::Simulation(const QueueingModel& model, size_t processors)
    : model_(model), processors_(processors) {
  for (const LockClass& lock : model.locks) {
    first_instance_.push_back(instances_.size());
    if (lock.instances == LockInstances::kPrivate) continue;
    instances_.resize(instances_.size() + InstanceCount(lock, processors));
  }
  for (const Step& step : model.steps) {
    if (step.lock == Step::kNoLock || model.locks[step.lock].instances == LockInstances::kPrivate) {
      tail_ns_ += step.ns;
    } else {
      holds_.push_back(
          {.lead_ns = std::exchange(tail_ns_, 0), .lock = step.lock, .hold_ns = step.ns});
    }
  }
  result_.finish_ns.resize(processors);
  result_.locks.resize(model.locks.size());
}

Simulation::Instance& Simulation::InstanceFor(const Arrival& arrival, size_t lock) {
  Instance* first = &instances_[first_instance_[lock]];
  const LockClass& lock_class = model_.locks[lock];
  if (lock_class.instances != LockInstances::kSharded) return *first;
  // Of the operation's number, not of a running generator: so that a slower lock elsewhere does not
  // change who meets whom here.
  const uint64_t choice = Mix(Mix(Mix(model_.seed + lock) + arrival.processor) + arrival.operation);
  return first[choice % lock_class.shards];
}

// Returns when the lock is released.
int64_t Simulation::Serve(const Arrival& arrival) {
  const SharedHold& hold = holds_[arrival.hold];
  Instance& instance = InstanceFor(arrival, hold.lock);
  LockUse& use = result_.locks[hold.lock];
  const int64_t waited_ns = std::max<int64_t>(0, instance.free_ns - arrival.when_ns);
  int64_t busy_ns = hold.hold_ns;
  if (instance.last_holder != arrival.processor && instance.last_holder != kNobody) {
    busy_ns += model_.transfer_ns;
    ++use.transfers;
  }
  instance.last_holder = arrival.processor;
  instance.free_ns = arrival.when_ns + waited_ns + busy_ns;
  instance.busy_ns += busy_ns;
  ++use.acquisitions;
  use.waits += waited_ns != 0 ? 1 : 0;
  use.waited_ns += waited_ns;
  use.busy_ns += busy_ns;
  return instance.free_ns;
}

// Restores the heap after its front moved to a later time.
void Simulation::SiftDown() {
  const Arrival moved = arrivals_.front();
  size_t place = 0;
  for (size_t child = 1; child < arrivals_.size(); child = 2 * place + 1) {
    if (child + 1 < arrivals_.size() && arrivals_[child + 1] < arrivals_[child]) ++child;
    if (moved < arrivals_[child]) break;
    arrivals_[place] = arrivals_[child];
    place = child;
  }
  arrivals_[place] = moved;
}

QueueingResult Simulation::Run() {
  AddPrivateUse();
  if (holds_.empty()) {
    std::ranges::fill(result_.finish_ns, static_cast<int64_t>(model_.operations) * tail_ns_);
  } else if (model_.operations != 0) {
    for (size_t i = 0; i < processors_; ++i) {
      arrivals_.push_back({.when_ns = holds_[0].lead_ns, .processor = i});
    }
  }
  while (!arrivals_.empty()) {
    Arrival& arrival = arrivals_.front();
    arrival.when_ns = Serve(arrival);
    if (++arrival.hold == holds_.size()) {
      arrival.hold = 0;
      arrival.when_ns += tail_ns_;
      ++arrival.operation;
    }
    if (arrival.operation == model_.operations) {
      result_.finish_ns[arrival.processor] = arrival.when_ns;
      arrival = arrivals_.back();
      arrivals_.pop_back();
      if (arrivals_.empty()) break;
    } else {
      arrival.when_ns += holds_[arrival.hold].lead_ns;
    }
    SiftDown();
  }
  result_.makespan_ns = std::ranges::max(result_.finish_ns);
  SetUtilisation();
  return std::move(result_);
}

void Simulation::AddPrivateUse() {
  const uint64_t times = processors_ * model_.operations;
  for (const Step& step : model_.steps) {
    if (step.lock == Step::kNoLock) continue;
    if (model_.locks[step.lock].instances != LockInstances::kPrivate) continue;
    result_.locks[step.lock].acquisitions += times;
    result_.locks[step.lock].busy_ns += static_cast<int64_t>(times) * step.ns;
  }
}

void Simulation::SetUtilisation() {
  if (result_.makespan_ns == 0) return;
  const auto makespan_ns = static_cast<double>(result_.makespan_ns);
  for (size_t lock = 0; lock < model_.locks.size(); ++lock) {
    LockUse& use = result_.locks[lock];
    const size_t count = InstanceCount(model_.locks[lock], processors_);
    use.utilisation = static_cast<double>(use.busy_ns) / (makespan_ns * static_cast<double>(count));
    use.busiest_utilisation = use.utilisation;
    if (model_.locks[lock].instances == LockInstances::kPrivate) continue;
    const auto instances = std::span(instances_).subspan(first_instance_[lock], count);
    const Instance& busiest = *std::ranges::max_element(instances, {}, &Instance::busy_ns);
    use.busiest_utilisation = static_cast<double>(busiest.busy_ns) / makespan_ns;
  }
}

// Empty if all is well.
std::string Complaint(const QueueingModel& model, size_t processors) {
  if (processors == 0) return "no processor to simulate";
  if (model.transfer_ns < 0) return "a hand-over takes a negative time";
  for (const LockClass& lock : model.locks) {
    if (lock.instances == LockInstances::kSharded && lock.shards == 0) {
      return fmt::format("lock class {} has no shard", lock.name);
    }
  }
  int64_t operation_ns = 0;
  bool too_long = false;
  for (size_t i = 0; i < model.steps.size(); ++i) {
    const Step& step = model.steps[i];
    if (step.ns < 0) return fmt::format("step {} takes a negative time", i);
    if (step.lock != Step::kNoLock && step.lock >= model.locks.size()) {
      return fmt::format("step {} holds lock {} of {}", i, step.lock, model.locks.size());
    }
    too_long |= __builtin_add_overflow(operation_ns, step.ns, &operation_ns);
    if (step.lock == Step::kNoLock) continue;
    too_long |= __builtin_add_overflow(operation_ns, model.transfer_ns, &operation_ns);
  }
  // Were every operation to wait for every other, this is how long it would take.
  int64_t total_ns = 0;
  too_long |= __builtin_mul_overflow(processors, model.operations, &total_ns);
  too_long |= __builtin_mul_overflow(total_ns, operation_ns, &total_ns);
  // A wait is no longer than the whole, and there are as many as there are holds.
  too_long |= __builtin_mul_overflow(total_ns, processors, &total_ns);
  return too_long ? "so much work exceeds 64 bits of nanoseconds" : "";
}

}  // namespace

std::expected<QueueingResult, std::string> Simulate(const QueueingModel& model, size_t processors) {
  std::string complaint = Complaint(model, processors);
  if (!complaint.empty()) return std::unexpected(std::move(complaint));
  return Simulation(model, processors).Run();
}

double SaturationOnset(const QueueingModel& model) {
  int64_t operation_ns = 0;
  std::vector<int64_t> at_lock_ns(model.locks.size());
  for (const Step& step : model.steps) {
    operation_ns += step.ns;
    if (step.lock == Step::kNoLock) continue;
    if (model.locks[step.lock].instances != LockInstances::kGlobal) continue;
    at_lock_ns[step.lock] += step.ns + model.transfer_ns;
  }
  const int64_t hottest_ns = at_lock_ns.empty() ? 0 : std::ranges::max(at_lock_ns);
  if (hottest_ns == 0) return std::numeric_limits<double>::infinity();
  return static_cast<double>(operation_ns) / static_cast<double>(hottest_ns);
}

std::expected<SimulatedCurve, std::string> SimulateCurve(std::string name,
                                                         const QueueingModel& model,
                                                         std::span<const size_t> processors) {
  SimulatedCurve curve{.name = std::move(name)};
  for (const size_t count : processors) {
    const auto result = Simulate(model, count);
    if (!result) return std::unexpected(result.error());
    curve.points.push_back(
        {.processors = count, .seconds = static_cast<double>(result->makespan_ns) / 1e9});
  }
  curve.onset = SaturationOnset(model);
  return curve;
}

}  // namespace nfswalk::bench
