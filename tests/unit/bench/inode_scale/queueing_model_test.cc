#include "bench/inode_scale/queueing_model.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <deque>
#include <random>

#include "gtest/gtest.h"

namespace nfswalk::bench {
namespace {

constexpr int64_t kComputeNs = 700;
constexpr int64_t kHoldNs = 100;
constexpr int64_t kOperations = 50;

QueueingModel OneLock(LockInstances instances, size_t shards = 1) {
  return {.locks = {{.name = "list", .instances = instances, .shards = shards}},
          .steps = {Step::Compute(kComputeNs), Step::Hold(0, kHoldNs)},
          .operations = kOperations};
}

QueueingResult Simulated(const QueueingModel& model, size_t processors) {
  auto result = Simulate(model, processors);
  EXPECT_TRUE(result) << result.error();
  return result.value_or(QueueingResult{});
}

TEST(QueueingModel, WithoutLocksEveryProcessorTakesItsOwnTime) {
  const QueueingModel model{.steps = {Step::Compute(30), Step::Compute(12)}, .operations = 1000};
  for (const size_t processors : {1, 2, 64}) {
    const QueueingResult result = Simulated(model, processors);
    EXPECT_EQ(result.makespan_ns, 42'000);
    EXPECT_EQ(result.finish_ns, std::vector<int64_t>(processors, 42'000));
  }
}

TEST(QueueingModel, OneProcessorTakesExactlyTheSumOfItsSteps) {
  const QueueingModel model{
      .locks = {{.name = "hash"},
                {.name = "chain", .instances = LockInstances::kSharded, .shards = 7},
                {.name = "own", .instances = LockInstances::kPrivate}},
      .steps = {Step::Hold(0, 3), Step::Compute(20), Step::Hold(1, 100), Step::Hold(0, 5000),
                Step::Hold(2, 70'000), Step::Compute(600'000)},
      .operations = 77,
      .transfer_ns = 1'000'000};
  const QueueingResult result = Simulated(model, 1);
  EXPECT_EQ(result.makespan_ns, 77 * 675'123);
  for (const LockUse& use : result.locks) {
    EXPECT_EQ(use.waited_ns, 0);
    EXPECT_EQ(use.transfers, 0U);
  }
  EXPECT_EQ(result.locks[0].acquisitions, 2 * 77U);
  EXPECT_EQ(result.locks[0].busy_ns, 77 * 5003);
}

TEST(QueueingModel, ASaturatedGlobalLockSetsThePace) {
  const QueueingModel model = OneLock(LockInstances::kGlobal);
  // The lock idles until the first one comes, and never again.
  for (const size_t processors : {8, 9, 16, 64}) {
    const QueueingResult result = Simulated(model, processors);
    const auto n = static_cast<int64_t>(processors);
    EXPECT_EQ(result.makespan_ns, kComputeNs + n * kOperations * kHoldNs) << n;
    EXPECT_EQ(result.locks[0].busy_ns, n * kOperations * kHoldNs);
    EXPECT_DOUBLE_EQ(result.locks[0].utilisation, static_cast<double>(result.locks[0].busy_ns) /
                                                      static_cast<double>(result.makespan_ns));
  }
}

TEST(QueueingModel, BelowSaturationTheProcessorsOnlyMeetOnce) {
  const QueueingModel model = OneLock(LockInstances::kGlobal);
  for (const int64_t n : {1, 2, 5, 8}) {
    const QueueingResult result = Simulated(model, static_cast<size_t>(n));
    EXPECT_EQ(result.makespan_ns, kOperations * (kComputeNs + kHoldNs) + (n - 1) * kHoldNs) << n;
    // They arrive together; afterwards each finds the lock free.
    EXPECT_EQ(result.locks[0].waited_ns, kHoldNs * n * (n - 1) / 2) << n;
    EXPECT_EQ(result.locks[0].waits, static_cast<uint64_t>(n - 1)) << n;
  }
}

TEST(QueueingModel, TheSaturationLawHoldsOnBothSidesOfTheOnset) {
  QueueingModel model = OneLock(LockInstances::kGlobal);
  model.operations = 10'000;
  EXPECT_DOUBLE_EQ(SaturationOnset(model), 8);
  const double alone = 1e4 * (kComputeNs + kHoldNs);
  for (const size_t processors : {1, 2, 4, 7, 8, 9, 12, 32}) {
    const double law = std::max(alone, static_cast<double>(processors) * 1e4 * kHoldNs);
    EXPECT_NEAR(static_cast<double>(Simulated(model, processors).makespan_ns) / law, 1, 1e-3)
        << processors;
  }
}

TEST(QueueingModel, PrivateLocksCostOnlyTheirHolds) {
  QueueingModel model = OneLock(LockInstances::kPrivate);
  model.transfer_ns = 999;
  for (const size_t processors : {1, 2, 64}) {
    const QueueingResult result = Simulated(model, processors);
    EXPECT_EQ(result.makespan_ns, kOperations * (kComputeNs + kHoldNs));
    EXPECT_EQ(result.locks[0].acquisitions, processors * kOperations);
    EXPECT_EQ(result.locks[0].transfers, 0U);
    EXPECT_EQ(result.locks[0].waited_ns, 0);
    EXPECT_DOUBLE_EQ(result.locks[0].utilisation, 100.0 / 800.0);
  }
}

TEST(QueueingModel, ShardsLieBetweenOneLockAndNone) {
  const int64_t global = Simulated(OneLock(LockInstances::kGlobal), 32).makespan_ns;
  const int64_t few = Simulated(OneLock(LockInstances::kSharded, 4), 32).makespan_ns;
  const int64_t many = Simulated(OneLock(LockInstances::kSharded, 1024), 32).makespan_ns;
  const int64_t own = Simulated(OneLock(LockInstances::kPrivate), 32).makespan_ns;
  EXPECT_GT(global, few);
  EXPECT_GT(few, many);
  EXPECT_GE(many, own);
  EXPECT_LT(static_cast<double>(many), 1.1 * static_cast<double>(own));
}

TEST(QueueingModel, OneShardIsAGlobalLock) {
  EXPECT_EQ(Simulated(OneLock(LockInstances::kSharded, 1), 16).finish_ns,
            Simulated(OneLock(LockInstances::kGlobal), 16).finish_ns);
}

TEST(QueueingModel, ShardsAreChosenEvenly) {
  QueueingModel model = OneLock(LockInstances::kSharded, 16);
  model.operations = 10'000;
  const LockUse use = Simulated(model, 4).locks[0];
  // 40,000 throws at 16 shards: the fullest is within 5 standard deviations of 2500.
  EXPECT_GT(use.busiest_utilisation, use.utilisation);
  EXPECT_LT(use.busiest_utilisation, use.utilisation * (1 + 5 / std::sqrt(2500.0)));
}

TEST(QueueingModel, AllStepsOfAnOperationFallOnOneShard) {
  // If the second hold fell on another shard, it would often come from another processor's hands.
  QueueingModel model{
      .locks = {{.name = "chain", .instances = LockInstances::kSharded, .shards = 64}},
      .steps = {Step::Hold(0, 10), Step::Hold(0, 10)},
      .operations = 1000};
  const LockUse twice = Simulated(model, 2).locks[0];
  model.steps.pop_back();
  const LockUse once = Simulated(model, 2).locks[0];
  EXPECT_LE(twice.transfers, once.transfers + once.transfers / 10);
}

TEST(QueueingModel, AHandOverCostsOnlyWhenTheProcessorChanges) {
  QueueingModel model = OneLock(LockInstances::kGlobal);
  model.transfer_ns = 40;
  EXPECT_EQ(Simulated(model, 1).makespan_ns, kOperations * (kComputeNs + kHoldNs));
  // Saturated, the processors take turns: all acquisitions but the first are hand-overs.
  const QueueingResult result = Simulated(model, 16);
  EXPECT_EQ(result.locks[0].transfers, 16 * kOperations - 1U);
  EXPECT_EQ(result.makespan_ns,
            kComputeNs + 16 * kOperations * kHoldNs + (16 * kOperations - 1) * 40);
  EXPECT_EQ(result.locks[0].busy_ns, result.makespan_ns - kComputeNs);
}

TEST(QueueingModel, ARepeatedHoldOfAFreeLockIsNoHandOver) {
  // The second processor's one operation begins long after the first one's holds.
  const QueueingModel model{
      .locks = {{.name = "list"}, {.name = "gate"}},
      .steps = {Step::Hold(1, 1000), Step::Hold(0, 10), Step::Hold(0, 10), Step::Hold(0, 10)},
      .transfer_ns = 5};
  const QueueingResult result = Simulated(model, 2);
  EXPECT_EQ(result.locks[0].acquisitions, 6U);
  EXPECT_EQ(result.locks[0].transfers, 1U);
  EXPECT_EQ(result.makespan_ns, 1000 + 1005 + 15 + 10 + 10);
}

TEST(QueueingModel, NobodyIsOvertakenInTheQueue) {
  const QueueingResult result = Simulated(OneLock(LockInstances::kGlobal), 16);
  for (int64_t i = 0; i < 16; ++i) {
    EXPECT_EQ(result.finish_ns[static_cast<size_t>(i)],
              kComputeNs + (16 * (kOperations - 1) + i + 1) * kHoldNs);
  }
}

TEST(QueueingModel, TheSeedAloneDecidesTheRun) {
  QueueingModel model = OneLock(LockInstances::kSharded, 8);
  const QueueingResult first = Simulated(model, 16);
  const QueueingResult again = Simulated(model, 16);
  EXPECT_EQ(first.finish_ns, again.finish_ns);
  EXPECT_EQ(first.locks[0].waited_ns, again.locks[0].waited_ns);
  model.seed = 2;
  EXPECT_NE(first.finish_ns, Simulated(model, 16).finish_ns);
}

TEST(QueueingModel, NoOperationsTakeNoTime) {
  QueueingModel model = OneLock(LockInstances::kGlobal);
  model.operations = 0;
  const QueueingResult result = Simulated(model, 4);
  EXPECT_EQ(result.makespan_ns, 0);
  EXPECT_EQ(result.locks[0].utilisation, 0);
}

TEST(QueueingModel, WrongInputsAreNamed) {
  const QueueingModel good = OneLock(LockInstances::kGlobal);
  EXPECT_EQ(Simulate(good, 0).error(), "no processor to simulate");
  QueueingModel bad = good;
  bad.steps.push_back(Step::Hold(1, 5));
  EXPECT_EQ(Simulate(bad, 1).error(), "step 2 holds lock 1 of 1");
  bad = good;
  bad.steps[0].ns = -1;
  EXPECT_EQ(Simulate(bad, 1).error(), "step 0 takes a negative time");
  bad = good;
  bad.transfer_ns = -1;
  EXPECT_EQ(Simulate(bad, 1).error(), "a hand-over takes a negative time");
  bad = OneLock(LockInstances::kSharded, 0);
  EXPECT_EQ(Simulate(bad, 1).error(), "lock class list has no shard");
  bad = good;
  bad.steps[0].ns = int64_t{1} << 62;
  EXPECT_EQ(Simulate(bad, 4).error(), "so much work exceeds 64 bits of nanoseconds");
}

TEST(QueueingModel, TheHottestGlobalLockDecidesTheOnset) {
  QueueingModel model{.locks = {{.name = "hash"},
                                {.name = "list"},
                                {.name = "lru", .instances = LockInstances::kPrivate}},
                      .steps = {Step::Hold(0, 10), Step::Hold(1, 15), Step::Hold(0, 10),
                                Step::Hold(2, 500), Step::Compute(465)}};
  EXPECT_DOUBLE_EQ(SaturationOnset(model), 50);
  model.transfer_ns = 40;
  EXPECT_DOUBLE_EQ(SaturationOnset(model), 10);
  model.locks[0].instances = model.locks[1].instances = LockInstances::kPrivate;
  EXPECT_TRUE(std::isinf(SaturationOnset(model)));
  EXPECT_TRUE(std::isinf(SaturationOnset({})));
}

TEST(QueueingModel, ACurveHoldsAPointForEachNumberOfProcessors) {
  constexpr std::array<size_t, 3> kProcessors = {1, 8, 64};
  const auto curve = SimulateCurve("one list", OneLock(LockInstances::kGlobal), kProcessors);
  ASSERT_TRUE(curve) << curve.error();
  EXPECT_EQ(curve->name, "one list");
  EXPECT_DOUBLE_EQ(curve->onset, 8);
  ASSERT_EQ(curve->points.size(), 3U);
  EXPECT_EQ(curve->points[2].processors, 64U);
  EXPECT_DOUBLE_EQ(curve->points[0].seconds, 40e-6);
  EXPECT_DOUBLE_EQ(curve->points[2].seconds, 320.7e-6);
  constexpr std::array<size_t, 1> kNone = {0};
  EXPECT_FALSE(SimulateCurve("nobody", OneLock(LockInstances::kGlobal), kNone));
}

// The same model told nanosecond by nanosecond, with queues in which processors stand. Steps take
// at least 1 ns, locks are global.
class SlowClock {
 public:
  SlowClock(const QueueingModel& model, size_t processors)
      : model_(model), workers_(processors), locks_(model.locks.size()) {}

  std::vector<int64_t> Finish() {
    std::vector<int64_t> finish(workers_.size(), -1);
    for (int64_t now = 0; std::ranges::find(finish, -1) != finish.end(); ++now) {
      for (size_t i = 0; i < workers_.size(); ++i) {
        Worker& worker = workers_[i];
        if (worker.until != now) continue;  // works on, or stands in a queue
        if (worker.holds != Step::kNoLock) locks_[worker.holds].held = false;
        worker.holds = Step::kNoLock;
        if (worker.step == model_.steps.size() * model_.operations) {
          finish[i] = now;
          continue;
        }
        const Step& step = model_.steps[worker.step++ % model_.steps.size()];
        worker.until = step.lock == Step::kNoLock ? now + step.ns : -1;
        if (step.lock != Step::kNoLock) locks_[step.lock].queue.push_back({i, step.ns});
      }
      for (size_t lock = 0; lock < locks_.size(); ++lock) Grant(lock, now);
    }
    return finish;
  }

 private:
  struct Worker {
    int64_t until = 0;
    size_t step = 0;
    size_t holds = Step::kNoLock;
  };
  struct Waiting {
    size_t worker;
    int64_t ns;
  };
  struct Lock {
    bool held = false;
    size_t last = ~size_t{0};
    std::deque<Waiting> queue;
  };

  void Grant(size_t index, int64_t now) {
    Lock& lock = locks_[index];
    if (lock.held || lock.queue.empty()) return;
    const Waiting next = lock.queue.front();
    lock.queue.pop_front();
    const bool handed_over = lock.last != ~size_t{0} && lock.last != next.worker;
    workers_[next.worker].until = now + next.ns + (handed_over ? model_.transfer_ns : 0);
    workers_[next.worker].holds = index;
    lock.held = true;
    lock.last = next.worker;
  }

  const QueueingModel& model_;
  std::vector<Worker> workers_;
  std::vector<Lock> locks_;
};

TEST(QueueingModel, AgreesWithAClockThatTicksEveryNanosecond) {
  std::mt19937 random(3);
  for (int round = 0; round < 300; ++round) {
    QueueingModel model{.locks = {{.name = "a"}, {.name = "b"}, {.name = "c"}},
                        .operations = 1 + random() % 6,
                        .transfer_ns = static_cast<int64_t>(random() % 4)};
    for (size_t i = 1 + random() % 5; i != 0; --i) {
      const auto ns = static_cast<int64_t>(1 + random() % 9);
      const size_t lock = random() % 4;
      model.steps.push_back(lock == 3 ? Step::Compute(ns) : Step::Hold(lock, ns));
    }
    const size_t processors = 1 + random() % 6;
    ASSERT_EQ(Simulated(model, processors).finish_ns, SlowClock(model, processors).Finish())
        << "round " << round;
  }
}

}  // namespace
}  // namespace nfswalk::bench
