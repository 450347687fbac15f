// read_set: the samples of every sequence count that a strict walk has read under, two for each
// component, to be compared once more at its end (WALK-16).
//
// Thread safety: one walk's own. Lifetime: the counts are those of one RCU section; Clear() or
// Grow() before the next.
// Memory: none up to 256 samples.
#ifndef NFSWALK_NFSCLIENT_WALK_READ_SET_H_
#define NFSWALK_NFSCLIENT_WALK_READ_SET_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <span>
#include <utility>

#include "rcu/seqcount.h"

namespace nfswalk::walk {

class ReadSet {
 public:
  ReadSet() = default;
  ReadSet(const ReadSet&) = delete;
  ReadSet& operator=(const ReadSet&) = delete;

  void Clear() { size_ = 0; }
  // False if full.
  [[nodiscard]] bool Add(const rcu::SeqCount& count, uint64_t sample) {
    if (full()) return false;
    samples_[size_++] = {&count, sample};
    return true;
  }
  bool full() const { return size_ == samples_.size(); }

  // From now on every name whose verifier matches is fresh, whatever lookupcache says: after a
  // ref-walk of the same call, whose LOOKUPs were answered within it.
  void TrustLookups() { trusts_lookups_ = true; }
  bool trusts_lookups() const { return trusts_lookups_; }

  // True if any count has changed since its sample was taken.
  bool Changed() const {
    for (const Sample& sample : samples_.first(size_)) {
      if (sample.count->Changed(sample.value)) return true;
    }
    return false;
  }

  // Clears it and makes it eight times as large. False, and unchanged, without memory. May
  // allocate: not in an RCU section.
  [[nodiscard]] bool Grow() {
    const size_t capacity = samples_.size() * 8;
    std::unique_ptr<Sample[]> larger(new (std::nothrow) Sample[capacity]);
    if (!larger) return false;
    samples_ = {larger.get(), capacity};
    heap_ = std::move(larger);
    size_ = 0;
    return true;
  }

 private:
  struct Sample {
    const rcu::SeqCount* count;
    uint64_t value;
  };

  size_t size_ = 0;
  bool trusts_lookups_ = false;
  std::array<Sample, 256> inline_;  // not cleared: written before it is read
  std::unique_ptr<Sample[]> heap_;
  std::span<Sample> samples_{inline_};
};

}  // namespace nfswalk::walk

#endif  // NFSWALK_NFSCLIENT_WALK_READ_SET_H_
