// open_count: how many open files an inode has, and whether one of its names is being removed, in
// one word, so that opens and closes take no lock (superblock/open_inodes.h).
//
// Contract    between TryBeginRemoval() and EndRemoval() the count does not grow, and no other
//             removal begins.
// Data        word_ = count (from bit 2 on) | awaited (bit 1) | removal (bit 0).
// Invariants  I1 only the thread whose TryBeginRemoval() succeeded clears bit 0. I2 bit 1 is set
//             only while bit 0 is, and cleared with it.
// Protocol    locked: lock; while (removal) wait; ++count; unlock.
//             here:   loop { w = word; if removal(w) return false; cas(w, w + 1) }
// Ordering    O1 EndRemoval() release -> TryAdd(), TryBeginRemoval() acquire: an open that comes
//                after a removal, and the next removal, see what it did.
//             O2 Remove() release -> TryBeginRemoval(), is_open() acquire: a removal that does not
//                find a file open sees what that did until it was closed.
//             O3 EndRemoval() release -> Remove() acquire: a close sees what a removal left that
//                found its file open, or the next removal finds it closed: either comes second in
//                the order of changes to the word.
// Progress    TryAdd() and MarkAwaited() go round only where another thread has changed the word;
//             the others do not wait. Who waits for the end of a removal does so elsewhere, after
//             MarkAwaited(): EndRemoval() returns that a thread does.
// Tests       tests/litmus/open_count_litmus_test.cc,
//             tests/unit/nfsclient/superblock/open_inodes_test.cc
#ifndef NFSWALK_NFSCLIENT_ICACHE_OPEN_COUNT_H_
#define NFSWALK_NFSCLIENT_ICACHE_OPEN_COUNT_H_

#include <atomic>
#include <cassert>
#include <cstdint>

namespace nfswalk::icache {

class OpenCount {
 public:
  // An open file more. False, with nothing added, while there is a removal.
  bool TryAdd() {
    uint32_t word = word_.load(std::memory_order_relaxed);
    while ((word & kRemoval) == 0) {
      if (word_.compare_exchange_weak(word, word + kOne,
                                      std::memory_order_acquire,  // O1: pairs with EndRemoval()
                                      std::memory_order_relaxed)) {
        return true;
      }
    }
    return false;
  }
  // One less. Also while there is a removal.
  void Remove() {
    // O2: pairs with TryBeginRemoval(), is_open(). O3: pairs with EndRemoval().
    [[maybe_unused]] const uint32_t before = word_.fetch_sub(kOne, std::memory_order_acq_rel);
    assert(before >= kOne);
  }

  // False while there is another one. True: ends with EndRemoval().
  bool TryBeginRemoval() {
    // O1, O2: pairs with EndRemoval(), Remove().
    return (word_.fetch_or(kRemoval, std::memory_order_acquire) & kRemoval) == 0;
  }
  // Returns whether it was awaited.
  bool EndRemoval() {
    // O1, O3: pairs with TryAdd(), TryBeginRemoval(), Remove().
    const uint32_t before = word_.fetch_and(~(kRemoval | kAwaited), std::memory_order_release);
    assert((before & kRemoval) != 0);
    return (before & kAwaited) != 0;
  }
  // True if there is a removal, whose end is told.
  bool MarkAwaited() {
    uint32_t word = word_.load(std::memory_order_relaxed);
    while ((word & kRemoval) != 0) {
      if ((word & kAwaited) != 0 ||
          word_.compare_exchange_weak(word, word | kAwaited, std::memory_order_relaxed,
                                      std::memory_order_relaxed)) {
        return true;
      }
    }
    return false;
  }

  bool is_open() const {
    return word_.load(std::memory_order_acquire) >= kOne;  // O2: pairs with Remove()
  }

  // For memory that is reused.
  void Reset() { word_.store(0, std::memory_order_relaxed); }

 private:
  static constexpr uint32_t kRemoval = 1;
  static constexpr uint32_t kAwaited = 2;
  static constexpr uint32_t kOne = 4;

  std::atomic<uint32_t> word_{0};
};

}  // namespace nfswalk::icache

#endif  // NFSWALK_NFSCLIENT_ICACHE_OPEN_COUNT_H_
