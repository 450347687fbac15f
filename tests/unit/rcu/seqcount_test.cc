#include "rcu/seqcount.h"

#include <gtest/gtest.h>

#include <array>
#include <cstddef>
#include <cstdint>

#include "rcu/change_count.h"
#include "rcu/keyed_change_count.h"

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

TEST(ChangeCount, GivesNoSampleWhileAnyChangeIsInFlight) {
  ChangeCount count;
  {
    ChangeCount::Change outer(count);
    EXPECT_FALSE(count.TrySample());
    { ChangeCount::Change inner(count); }
    EXPECT_FALSE(count.TrySample());
  }
  EXPECT_TRUE(count.TrySample());
}

TEST(KeyedChangeCount, OnlyChangesUnderItsKeysChangeASum) {
  KeyedChangeCount count;
  const std::array<int, 64> keys{};
  KeyedChangeCount::Keys some;
  some.Add(&keys[0]);
  some.Add(&keys[1]);
  const uint64_t before = count.Sum(some);
  int unchanged = 0;
  for (size_t i = 2; i < keys.size(); ++i) {
    const uint64_t sum = count.Sum(some);
    const auto sample = count.TrySample();
    { KeyedChangeCount::Change change(count, &keys[i]); }
    EXPECT_FALSE(count.Validate(*sample));
    unchanged += count.Sum(some) == sum;
  }
  EXPECT_GT(unchanged, 50) << "few keys share a shard";
  for (const int* key : {&keys[0], &keys[1]}) {
    const uint64_t sum = count.Sum(some);
    KeyedChangeCount::Change change(count, key);
    EXPECT_NE(count.Sum(some), sum) << "from the begin of the change on";
  }
  EXPECT_GE(count.Sum(some), before + 2);
  const auto sample = count.TrySample();
  { KeyedChangeCount::Change nothing(count, nullptr); }
  EXPECT_TRUE(count.Validate(*sample));
}

TEST(KeyedChangeCount, MoreKeysThanItKeepsDoNotFit) {
  KeyedChangeCount::Keys keys;
  for (size_t i = 0; i < KeyedChangeCount::Keys::kMax; ++i) keys.Add(&keys);
  EXPECT_TRUE(keys.fit());
  keys.Add(&keys);
  EXPECT_FALSE(keys.fit());
  keys.Clear();
  EXPECT_TRUE(keys.fit());
}

}  // namespace
}  // namespace nfswalk::rcu
