#include "rcu/change_count.h"

#include <gtest/gtest.h>

namespace nfswalk::rcu {
namespace {

TEST(ChangeCount, ASampleHoldsUntilTheNextChangeBegins) {
  ChangeCount count;
  const auto sample = count.TrySample();
  ASSERT_TRUE(sample);
  EXPECT_TRUE(count.Validate(*sample));
  {
    ChangeCount::Change change(count);
    EXPECT_FALSE(count.Validate(*sample));
  }
  EXPECT_FALSE(count.Validate(*sample));
  const auto later = count.TrySample();
  ASSERT_TRUE(later);
  EXPECT_TRUE(count.Validate(*later));
}

TEST(ChangeCount, GivesNoSampleWhileAnyChangeIsUnderWay) {
  ChangeCount count;
  {
    ChangeCount::Change outer(count);
    EXPECT_FALSE(count.TrySample());
    { ChangeCount::Change inner(count); }
    EXPECT_FALSE(count.TrySample());
  }
  EXPECT_TRUE(count.TrySample());
}

}  // namespace
}  // namespace nfswalk::rcu
