// Asynchronous calls.
#include "nfsclient/superblock/background.h"

#include <gtest/gtest.h>

#include <atomic>
#include <latch>

#include "tests/fixtures/thread_shortage.h"

namespace nfswalk::nfs {
namespace {

TEST(Background, CallsBeyondTheLimitAreLeftToTheCaller) {
  Background background;
  std::latch release(1);
  std::atomic<size_t> made{0}, made_by_callers{0};
  const auto call = [&] {
    return Background::Call([&](bool in_background) {
      release.wait();
      ++(in_background ? made : made_by_callers);
    });
  };
  for (size_t i = 0; i < Background::kThreadsMax; ++i) {
    Background::Call one = call();
    EXPECT_TRUE(background.TryStart(one)) << i;
  }
  Background::Call one_too_many = call();
  EXPECT_FALSE(background.TryStart(one_too_many));
  release.count_down();
  background.WaitUntilIdle();
  one_too_many(/*in_background=*/false);
  EXPECT_EQ(made, Background::kThreadsMax);
  EXPECT_EQ(made_by_callers, 1u);
  Background::Call next = call();
  EXPECT_TRUE(background.TryStart(next));
}

TEST(Background, StopWaitsForWhatRuns) {
  Background background;
  std::latch running(1), stopping(1);
  std::atomic<bool> ended{false};
  Background::Call call = [&](bool) {
    running.count_down();
    stopping.wait();
    ended = true;
  };
  ASSERT_TRUE(background.TryStart(call));
  running.wait();
  stopping.count_down();
  background.Stop();
  EXPECT_TRUE(ended);
  Background::Call late = [](bool) {};
  EXPECT_FALSE(background.TryStart(late));
}

TEST(Background, WithoutThreadsTheCallerMakesTheCall) {
  Background background;
  Background::Call call = [](bool) {};
  {
    const fixtures::ThreadShortage shortage(0);
    EXPECT_FALSE(background.TryStart(call));
  }
  EXPECT_TRUE(static_cast<bool>(call));
  EXPECT_TRUE(background.TryStart(call));
  background.WaitUntilIdle();
}

}  // namespace
}  // namespace nfswalk::nfs
