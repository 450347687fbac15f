// Tests what the kernel tells about a shortage of memory, over made-up files and, where it has
// /proc/pressure, the kernel itself.
#include "nfsclient/memory/pressure_signals.h"

#include <gtest/gtest.h>

#include <chrono>
#include <filesystem>
#include <string>
#include <thread>

#include "tests/unit/nfsclient/memory/kernel_files.h"

namespace nfswalk::nfs {
namespace {

constexpr std::chrono::milliseconds kAtOnce(0), kForEver(-1);
constexpr char kLimit[] = "/sys/fs/cgroup/a/memory.max";
constexpr char kPressure[] = "/sys/fs/cgroup/a/memory.pressure";
constexpr char kEvents[] = "/sys/fs/cgroup/a/memory.events";
constexpr char kMachine[] = "/proc/pressure/memory";

std::string Events(int high) {
  return "low 9\nhigh " + std::to_string(high) + "\nmax 9\noom 9\noom_kill 9\n";
}

class PressureSignalsTest : public ::testing::Test, protected KernelFiles {
 protected:
  PressureSignalsTest() { EnterCgroup("/a/b"); }
};

TEST_F(PressureSignalsTest, AKernelWithoutFilesTellsNothing) {
  EXPECT_FALSE(PressureSignals("/nonexistent").can_tell());
  EXPECT_FALSE(PressureSignals(root_).can_tell());
  // A cgroup that limits nothing is short of memory only if the machine is.
  Write(kEvents, Events(0));
  EXPECT_FALSE(PressureSignals(root_).can_tell());
}

TEST_F(PressureSignalsTest, TriggersAreSetOnCgroupsWithALimitAndOnTheMachine) {
  Write(kLimit, "1000000\n");
  Write(kPressure, "");
  Write(kMachine, "");
  Write("/sys/fs/cgroup/a/b/memory.pressure", "");
  const PressureSignals signals(root_);
  EXPECT_TRUE(signals.can_tell());
  // psi.rst: the threshold and the window in microseconds, and a NUL.
  const std::string trigger("some 100000 2000000\0", 20);
  EXPECT_EQ(Read(kPressure), trigger);
  EXPECT_EQ(Read(kMachine), trigger);
  EXPECT_EQ(Read("/sys/fs/cgroup/a/b/memory.pressure"), "");
}

TEST_F(PressureSignalsTest, WithoutATriggerTheCounterOfTheHighLimitTells) {
  Write(kLimit, "1000000\n");
  Write(kEvents, Events(9));
  PressureSignals signals(root_);
  ASSERT_TRUE(signals.can_tell());
  EXPECT_EQ(signals.Wait(kAtOnce), PressureSignal::kTimeout);
  Write(kEvents, Events(10));
  EXPECT_EQ(signals.Wait(kForEver), PressureSignal::kMemoryShort);
  EXPECT_EQ(signals.Wait(kAtOnce), PressureSignal::kTimeout);
}

TEST_F(PressureSignalsTest, OtherCountersTellNothing) {
  Write(kLimit, "1000000\n");
  Write(kEvents, "low 0\nhigh 5\nmax 0\n");
  PressureSignals signals(root_);
  Write(kEvents, "low 1\nhigh 5\nmax 1\n");
  EXPECT_EQ(signals.Wait(kAtOnce), PressureSignal::kTimeout);
}

TEST_F(PressureSignalsTest, StopEndsAWait) {
  Write(kLimit, "1000000\n");
  Write(kEvents, Events(0));
  PressureSignals signals(root_);
  std::thread stopper([&] { signals.Stop(); });
  EXPECT_EQ(signals.Wait(kForEver), PressureSignal::kStopped);
  EXPECT_EQ(signals.Pause(kForEver), PressureSignal::kStopped);
  stopper.join();
}

TEST_F(PressureSignalsTest, TheMachineIsShortWhereLittleIsAvailable) {
  Write("/proc/meminfo", "MemTotal: 800 kB\nMemFree: 1 kB\nMemAvailable: 100 kB\n");
  EXPECT_FALSE(MachineHasLittleMemory(root_));
  Write("/proc/meminfo", "MemTotal: 800 kB\nMemFree: 1 kB\nMemAvailable: 99 kB\n");
  EXPECT_TRUE(MachineHasLittleMemory(root_));
  EXPECT_FALSE(MachineHasLittleMemory("/nonexistent"));
}

TEST_F(PressureSignalsTest, TheKernelTakesTheTrigger) {
  if (!std::filesystem::exists(kMachine)) GTEST_SKIP() << "no " << kMachine << " here";
  if (!PressureSignals().can_tell()) GTEST_SKIP() << kMachine << " takes no trigger from this user";
  PressureSignals signals;
  std::thread stopper([&] { signals.Stop(); });
  EXPECT_EQ(signals.Wait(kForEver), PressureSignal::kStopped);
  stopper.join();
}

}  // namespace
}  // namespace nfswalk::nfs
