#include "bench/measure/machine_share.h"

#include <gtest/gtest.h>

namespace nfswalk::bench {
namespace {

TEST(MachineShare, IdleWaitingAndInterruptTimeIsUnused) {
  // user nice system idle iowait irq softirq steal
  EXPECT_EQ(UnusedSecondsIn("cpu  100 20 30 400 50 6 4 70 0 0\ncpu0 1 1 1 1 1 1 1 1\n", 100), 4.6);
  EXPECT_FALSE(UnusedSecondsIn("cpu0 1 1 1 1 1 1 1\n", 100));
  EXPECT_FALSE(UnusedSecondsIn("cpu 1 1\n", 100));
  EXPECT_FALSE(UnusedSecondsIn("", 100));
}

TEST(MachineShare, TimeOfOthersAndStolenTimeIsMissingFromTheShare) {
  struct Case {
    double seconds, ours_s, unused_s, share;
  };
  for (const auto& [seconds, ours_s, unused_s, share] :
       {Case{1, 1.5, 0.5, 1},     // on two processors nothing is missing
        Case{1, 0, 2, 1},         // all slept
        Case{1, 1, 0.5, 0.755},   // half a second went elsewhere, less a tick
        Case{1, 1.995, 0, 1},     // less than a tick is
        Case{1, 2.5, 0.5, 1}}) {  // clocks disagree
    EXPECT_DOUBLE_EQ(ShareOfMachine(seconds, 2, ours_s, unused_s, 0.01), share);
  }
}

TEST(MachineShare, OfThisMachineIsAShare) {
  const MachineShare machine(0);
  volatile uint64_t work = 0;
  for (int i = 0; i < 30'000'000; ++i) work = work + 1;
  EXPECT_GE(machine.Share(), 0);
  EXPECT_LE(machine.Share(), 1);
}

}  // namespace
}  // namespace nfswalk::bench
