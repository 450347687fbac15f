#include "rcu/sync_point.h"

#include <gtest/gtest.h>

#include <latch>
#include <thread>

namespace nfswalk::rcu {
namespace {

class SyncPointTest : public testing::Test {
 protected:
  ~SyncPointTest() override { SyncPointScript::ClearAll(); }
};

void Work() { NFSWALK_SYNC_POINT("test:work"); }

#ifdef NDEBUG

TEST_F(SyncPointTest, PointsAreCompiledOutOfARelease) {
  int reached = 0;
  SyncPointScript::OnReach("test:work", [&] { ++reached; });
  Work();
  EXPECT_EQ(reached, 0);
}

#else

TEST_F(SyncPointTest, OnlyThePointOfThatNameCallsBackUntilClearAll) {
  int reached = 0;
  SyncPointScript::OnReach("test:other", [&] { ++reached; });
  Work();
  EXPECT_EQ(reached, 0);
  SyncPointScript::OnReach("test:work", [&] { ++reached; });
  Work();
  Work();
  EXPECT_EQ(reached, 2);
  EXPECT_TRUE(SyncPointScript::Installed());
  SyncPointScript::ClearAll();
  EXPECT_FALSE(SyncPointScript::Installed());
  Work();
  EXPECT_EQ(reached, 2);
}

TEST_F(SyncPointTest, ACallbackMayHoldItsThreadWhileOthersRun) {
  std::latch reached(1);
  std::latch go_on(1);
  SyncPointScript::OnReach("test:work", [&] {
    reached.count_down();
    go_on.wait();
  });
  std::jthread worker(Work);
  reached.wait();
  SyncPointScript::OnReach("test:other", [] {});
  SyncPointScript::ClearAll();
  go_on.count_down();
}

#endif

}  // namespace
}  // namespace nfswalk::rcu
