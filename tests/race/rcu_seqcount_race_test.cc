// Readers of a sequence count beside a writer: torn reads occur, and none validates.
#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <thread>

#include "rcu/seqcount.h"

namespace nfswalk::rcu {
namespace {

struct Record {
  SeqCount seq;
  std::array<std::atomic<uint64_t>, 8> words{};  // all equal outside a write
};

struct Tally {
  uint64_t valid = 0;
  uint64_t rejected = 0;
  uint64_t torn_rejected = 0;
  uint64_t torn_valid = 0;
};

void ReadOnce(const Record& record, Tally& tally) {
  const uint64_t sample = record.seq.Begin();
  bool equal = true;
  const uint64_t first = record.words.front().load(std::memory_order_relaxed);
  for (const auto& word : record.words) equal &= word.load(std::memory_order_relaxed) == first;
  if (record.seq.Changed(sample)) {
    ++tally.rejected;
    tally.torn_rejected += equal ? 0 : 1;
  } else {
    ++tally.valid;
    tally.torn_valid += equal ? 0 : 1;
  }
}

constexpr uint64_t kFloor = 1000;
constexpr uint64_t kAttempts = 50'000'000;

// WALK-14.
TEST(SeqCountRace, NoTornReadPassesAlthoughTornReadsHappen) {
  Record record;
  std::atomic<bool> stop{false};
  std::jthread writer([&] {
    for (uint64_t value = 1; !stop.load(std::memory_order_relaxed); ++value) {
      record.seq.WriteBegin();
      for (auto& word : record.words) word.store(value, std::memory_order_relaxed);
      record.seq.WriteEnd();
      // Gives readers time to succeed.
      for (int i = 0; i < 20; ++i) record.seq.Begin();
    }
  });
  Tally tally;
  for (uint64_t i = 0; i < kAttempts; ++i) {
    if (tally.valid >= kFloor && tally.torn_rejected >= 10) break;
    ReadOnce(record, tally);
  }
  stop.store(true);
  EXPECT_EQ(tally.torn_valid, 0u);
  EXPECT_GE(tally.valid, kFloor);
  EXPECT_GE(tally.torn_rejected, 10u) << "no torn read occurred";
}

TEST(SeqCountRace, ASampleOlderThanAWriteNeverPasses) {
  SeqCount seq;
  std::atomic<uint64_t> rounds{0};
  std::atomic<bool> stop{false};
  std::jthread writer([&] {
    while (!stop.load(std::memory_order_relaxed)) {
      seq.WriteBegin();
      seq.WriteEnd();
      rounds.fetch_add(1, std::memory_order_release);  // pairs with the loads below
    }
  });
  uint64_t judged = 0;
  for (uint64_t i = 0; i < kAttempts && judged < kFloor; ++i) {
    const uint64_t sample = seq.Begin();
    const uint64_t round = rounds.load(std::memory_order_acquire);  // pairs with the writer
    // Round + 1 may have been inside the sample already; round + 2 began after it.
    while (rounds.load(std::memory_order_acquire) < round + 2) {  // pairs with the writer
      std::this_thread::yield();
    }
    ++judged;
    ASSERT_TRUE(seq.Changed(sample));
  }
  stop.store(true);
  EXPECT_GE(judged, kFloor);
}

}  // namespace
}  // namespace nfswalk::rcu
