// SeqCount, ChangeCount and KeyedChangeCount.
#include <gtest/gtest.h>

#include <cstdint>
#include <optional>

#include "rcu/change_count.h"
#include "rcu/keyed_change_count.h"
#include "rcu/seqcount.h"
#include "tests/litmus/explorer.h"
#include "tests/litmus/scenario.h"

namespace nfswalk::rcu {
namespace {

using litmus::Require;
using litmus::RunThreads;
using litmus::Saw;
using litmus::Scenario;

constexpr auto kRelaxed = std::memory_order_relaxed;

struct Record {
  SeqCount seq;
  std::atomic<int> first{0};
  std::atomic<int> second{0};

  void Set(int value) {
    seq.WriteBegin();
    first.store(value, kRelaxed);
    second.store(value, kRelaxed);
    seq.WriteEnd();
  }
  // The value that both had at once.
  std::optional<int> Get() const {
    const uint64_t sample = seq.Begin();
    const int one = first.load(kRelaxed);
    const int other = second.load(kRelaxed);
    if (seq.Changed(sample)) {
      if (one != other) Saw("a torn read is rejected");
      return std::nullopt;
    }
    Require(one == other, "a torn read is valid");
    return one;
  }
};

const Scenario kReaderBesideWriter(
    [] {
      Record record;
      RunThreads({[&] {
                    record.Set(1);
                    record.Set(2);
                  },
                  [&] {
                    const auto value = record.Get();
                    if (value == 2) Saw("the last write is read");
                    if (value == 0) Saw("the state before is read");
                  }});
    },
    1000, {"a torn read is rejected", "the last write is read", "the state before is read"});

// WALK-14.
TEST(SeqCountLitmus, NoTornReadIsValid) { kReaderBesideWriter.ExpectHolds(); }

// A change of two fields each; they have one value outside of it.
struct Guarded {
  std::atomic<int> first{0};
  std::atomic<int> second{0};

  void Set(ChangeCount& count, int value) {
    const ChangeCount::Change change(count);
    Set(value);
  }
  void Set(KeyedChangeCount& count, const void* key, int value) {
    const KeyedChangeCount::Change change(count, key);
    Set(value);
  }
  void Set(int value) {
    first.store(value, kRelaxed);
    second.store(value, kRelaxed);
  }
};

// As a walk uses the prefix that it, or one before it, has recorded.
const Scenario kSampleAndLaterUse(
    [] {
      ChangeCount count;
      Guarded guarded;
      RunThreads({[&] { guarded.Set(count, 1); },
                  [&] {
                    const std::optional<uint64_t> sample = count.TrySample();
                    if (!sample) return;
                    const int kept = guarded.first.load(kRelaxed);
                    const int other = guarded.second.load(kRelaxed);
                    if (!count.Validate(*sample)) return;
                    Require(kept == other, "half a change is valid");
                    Require(*sample == 0 || kept == 1, "a change before the sample is not seen");
                    if (kept == 1) Saw("the change is sampled");
                    const int later = guarded.first.load(kRelaxed);
                    if (!count.Validate(*sample)) {
                      Saw("what was kept becomes invalid");
                      return;
                    }
                    Require(later == kept, "what is valid has changed");
                  }});
    },
    50, {"the change is sampled", "what was kept becomes invalid"});

TEST(ChangeCountLitmus, ValidSampleMeansNoChange) { kSampleAndLaterUse.ExpectHolds(); }

const Scenario kTwoChanges(
    [] {
      ChangeCount count;
      Guarded one;
      Guarded other;
      RunThreads({[&] { one.Set(count, 1); }, [&] { other.Set(count, 1); },
                  [&] {
                    const std::optional<uint64_t> sample = count.TrySample();
                    if (!sample) return;
                    const int sum = one.second.load(kRelaxed) + other.second.load(kRelaxed);
                    if (!count.Validate(*sample)) return;
                    Require(*sample == static_cast<uint64_t>(sum), "the count is not of the state");
                    if (sum == 2) Saw("both changes are seen");
                    if (sum == 1) Saw("one change is seen");
                  }});
    },
    400, {"both changes are seen", "one change is seen"});

TEST(ChangeCountLitmus, OverlappingChangesAreEachSeenWholeOrNotAtAll) { kTwoChanges.ExpectHolds(); }

// Keys of different shards.
const void* const kHere = reinterpret_cast<const void*>(uintptr_t{1});
const void* const kElsewhere = reinterpret_cast<const void*>(uintptr_t{2});

// As a walk uses the prefix that it, or one before it, has recorded, when the mount has changed.
const Scenario kSumAndLaterUse(
    [] {
      KeyedChangeCount count;
      Guarded guarded;
      RunThreads({[&] { guarded.Set(count, kHere, 1); },
                  [&] {
                    KeyedChangeCount::Keys keys;
                    keys.Add(kHere);
                    const std::optional<uint64_t> sample = count.TrySample();
                    if (!sample) return;
                    const int kept = guarded.first.load(kRelaxed);
                    const int other = guarded.second.load(kRelaxed);
                    const uint64_t sum = count.Sum(keys);
                    if (!count.Validate(*sample)) return;
                    Require(kept == other, "half a change is valid");
                    Require(sum == *sample, "the sum is not of the sample");
                    if (kept == 1) Saw("the change is sampled");
                    const int later = guarded.first.load(kRelaxed);
                    if (count.Sum(keys) != sum) {
                      Saw("what was kept becomes invalid");
                      return;
                    }
                    Require(later == kept, "what is valid has changed");
                  }});
    },
    50, {"the change is sampled", "what was kept becomes invalid"});

TEST(KeyedChangeCountLitmus, EqualSumMeansNoChange) { kSumAndLaterUse.ExpectHolds(); }

const Scenario kNewSample(
    [] {
      KeyedChangeCount count;
      Guarded here;
      Guarded there;
      RunThreads({[&] { here.Set(count, kHere, 1); }, [&] { there.Set(count, kElsewhere, 1); },
                  [&] {
                    KeyedChangeCount::Keys keys;
                    keys.Add(kHere);
                    const std::optional<uint64_t> sample = count.TrySample();
                    if (!sample || count.Sum(keys) != 0) return;
                    const int later = here.second.load(kRelaxed);
                    if (!count.Validate(*sample)) return;
                    Require(later == 0, "a sample without the change is valid after it");
                    if (*sample == 1) Saw("a sample is taken behind a change elsewhere");
                  }});
    },
    400, {"a sample is taken behind a change elsewhere"});

TEST(KeyedChangeCountLitmus, ANewSampleIsOfTheSameStateAsTheSum) { kNewSample.ExpectHolds(); }

}  // namespace
}  // namespace nfswalk::rcu
