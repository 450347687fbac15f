#include "bench/inode_scale/bundle_model.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

namespace nfswalk::bench {
namespace {

constexpr HoldTimes kTimes = {
    .hash_find = 20, .hash_insert = 40, .hash_unhash = 30, .list = 10, .transfer = 50};
constexpr double kInode_ns = 400;
constexpr size_t kFiles = 1000;

QueueingModel ModelOf(const std::string& label) {
  return BulkstatModel(*icache::ParseInodePolicy(label), kTimes, kInode_ns, kFiles);
}

size_t Holds(const QueueingModel& model) {
  return static_cast<size_t>(std::ranges::count_if(
      model.steps, [](const Step& step) { return step.lock != Step::kNoLock; }));
}

TEST(BundleModel, ABundleHoldsTheLocksThatItsPoliciesTake) {
  EXPECT_EQ(Holds(ModelOf("H0+L0+U0")), 5u);
  EXPECT_EQ(Holds(ModelOf("H1+L0+U0")), 4u);
  EXPECT_EQ(Holds(ModelOf("H8+L3+U1")), 2u);
}

TEST(BundleModel, OneProcessorTakesTheTimeThatWasMeasured) {
  for (const char* label : {"H0+L0+U0", "H3+L1+U1", "H8+L3+U1"}) {
    const auto result = Simulate(ModelOf(label), 1);
    ASSERT_TRUE(result.has_value());
    EXPECT_NEAR(static_cast<double>(result->makespan_ns), kInode_ns * kFiles, 5.0 * kFiles)
        << label;
  }
}

// Holds that were measured in colder caches, say.
TEST(BundleModel, LocksAreNotHeldLongerThanTheWholeTakes) {
  constexpr double kShort_ns = 60;
  const auto result =
      Simulate(BulkstatModel(*icache::ParseInodePolicy("H0+L0+U0"), kTimes, kShort_ns, kFiles), 1);
  ASSERT_TRUE(result.has_value());
  EXPECT_NEAR(static_cast<double>(result->makespan_ns), kShort_ns * kFiles, 5.0 * kFiles);
}

TEST(BundleModel, OneGlobalLockSaturatesAndNoneDoesNot) {
  EXPECT_LT(SaturationOnset(ModelOf("H0+L0+U0")), 4);
  const auto one = Simulate(ModelOf("H8+L3+U1"), 1), many = Simulate(ModelOf("H8+L3+U1"), 64);
  EXPECT_LT(many->makespan_ns, 2 * one->makespan_ns);
  EXPECT_GT(Simulate(ModelOf("H0+L0+U0"), 64)->makespan_ns, 10 * one->makespan_ns);
}

}  // namespace
}  // namespace nfswalk::bench
