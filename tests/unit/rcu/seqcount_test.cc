#include "rcu/seqcount.h"

#include <gtest/gtest.h>

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

}  // namespace
}  // namespace nfswalk::rcu
