#include "rcu/seqcount.h"

#include <gtest/gtest.h>

#include "rcu/change_count.h"

namespace nfswalk::rcu {
namespace {

TEST(SeqCount, AnUndisturbedReadIsValid) {
  SeqCount seq;
  const uint64_t sample = seq.Begin();
  EXPECT_FALSE(seq.Changed(sample));
  EXPECT_FALSE(seq.Changed(sample)) << "a check must not change the sample";
}

TEST(SeqCount, ASampleFromBeforeAWriteOrInsideItIsInvalidDuringAndAfterIt) {
  SeqCount seq;
  const uint64_t before = seq.Begin();
  seq.WriteBegin();
  const uint64_t inside = seq.Begin();
  EXPECT_TRUE(seq.Changed(before));
  EXPECT_TRUE(seq.Changed(inside));
  seq.WriteEnd();
  EXPECT_TRUE(seq.Changed(before));
  EXPECT_TRUE(seq.Changed(inside));
  EXPECT_FALSE(seq.Changed(seq.Begin()));
}

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
