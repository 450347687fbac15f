// lookup_misses: how many names of a directory had to be asked of the server one by one, and were
// found; whether it is time to have the directory listed instead, and its number of entries
// (ahead/list_ahead.h).
//
// Thread safety: all functions.
#ifndef NFSWALK_NFSCLIENT_ICACHE_LOOKUP_MISSES_H_
#define NFSWALK_NFSCLIENT_ICACHE_LOOKUP_MISSES_H_

#include <algorithm>
#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>

namespace nfswalk::icache {

class LookupMisses {
 public:
  // One more. The 4th, the 64th and the 1024th make a listing due.
  void Add() {
    if ((word_.load() & kCount) == kCount) return;
    const int count = ((word_.fetch_add(kOne) & kCount) + kOne) / kOne;
    if (count == 4 || count == 64 || count == 1024) word_.fetch_or(kDue);
  }
  // True for one caller, once a listing is due.
  bool TakeReaddirHint() {
    return (word_.load() & kDue) != 0 &&
           (word_.fetch_and(static_cast<uint16_t>(~kDue)) & kDue) != 0;
  }

  // How many entries a listing has shown, rounded up to a power of two, 16,384 at most; 0 before
  // there was one.
  size_t entries() const {
    const int width = word_.load() & kEntries;
    return width == 0 ? 0 : size_t{1} << (width - 1);
  }
  void SetEntries(size_t entries) {
    const size_t bounded = std::clamp<size_t>(entries, 1, size_t{1} << (kEntries - 1));
    const auto width = static_cast<uint16_t>(std::bit_width(std::bit_ceil(bounded)));
    for (uint16_t word = word_.load();
         !word_.compare_exchange_weak(word, (word & ~kEntries) | width);) {
    }
  }

  // Cheap where there is nothing to reset.
  void Reset() {
    if (word_.load() != 0) word_.store(0);
  }

 private:
  // From the lowest bit: the entries, a count that stops at its highest value, and one more bit.
  static constexpr uint16_t kEntries = 0x000f;
  static constexpr uint16_t kOne = 0x0010;
  static constexpr uint16_t kCount = 0x7ff0;
  static constexpr uint16_t kDue = 0x8000;

  std::atomic<uint16_t> word_{0};
};

}  // namespace nfswalk::icache

#endif  // NFSWALK_NFSCLIENT_ICACHE_LOOKUP_MISSES_H_
