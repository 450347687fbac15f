#include "rcu/change_count.h"

#include <gtest/gtest.h>

namespace nfswalk::rcu {
namespace {

TEST(ChangeCount, ASampleHoldsUntilTheNextChangeBegins) {
  ChangeCount count;
  const auto sample = count.Quiet();
  ASSERT_TRUE(sample);
  EXPECT_TRUE(count.Still(*sample));
  {
    ChangeCount::Change change(count);
    EXPECT_FALSE(count.Still(*sample));
  }
  EXPECT_FALSE(count.Still(*sample));
  const auto later = count.Quiet();
  ASSERT_TRUE(later);
  EXPECT_TRUE(count.Still(*later));
}

TEST(ChangeCount, GivesNoSampleWhileAnyChangeIsUnderWay) {
  ChangeCount count;
  {
    ChangeCount::Change outer(count);
    EXPECT_FALSE(count.Quiet());
    { ChangeCount::Change inner(count); }
    EXPECT_FALSE(count.Quiet());
  }
  EXPECT_TRUE(count.Quiet());
}

}  // namespace
}  // namespace nfswalk::rcu
