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

TEST(SeqCount, ASampleFromBeforeAWriteIsInvalidDuringAndAfterIt) {
  SeqCount seq;
  const uint64_t sample = seq.Begin();
  seq.WriteBegin();
  EXPECT_TRUE(seq.Changed(sample));
  seq.WriteEnd();
  EXPECT_TRUE(seq.Changed(sample));
}

TEST(SeqCount, ASampleFromInsideAWriteIsInvalidDuringAndAfterIt) {
  SeqCount seq;
  seq.WriteBegin();
  const uint64_t sample = seq.Begin();
  EXPECT_TRUE(seq.Changed(sample));
  seq.WriteEnd();
  EXPECT_TRUE(seq.Changed(sample));
}

TEST(SeqCount, ASampleFromAfterAWriteIsValid) {
  SeqCount seq;
  seq.WriteBegin();
  seq.WriteEnd();
  EXPECT_FALSE(seq.Changed(seq.Begin()));
}

}  // namespace
}  // namespace nfswalk::rcu
