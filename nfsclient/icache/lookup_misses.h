// lookup_misses: how many names of a directory had to be asked of the server one by one, and
// whether it is time to have the directory listed instead (nfs/list_ahead.h).
//
// Thread safety: all functions.
#ifndef NFSWALK_NFSCLIENT_ICACHE_LOOKUP_MISSES_H_
#define NFSWALK_NFSCLIENT_ICACHE_LOOKUP_MISSES_H_

#include <atomic>
#include <cstdint>

namespace nfswalk::icache {

class LookupMisses {
 public:
  // One more. The 4th, the 64th, the 1024th and the 16384th make a listing due.
  void Add() {
    if ((word_.load() & kCount) == kCount) return;
    const auto count = static_cast<uint16_t>((word_.fetch_add(1) & kCount) + 1);
    if (count == 4 || count == 64 || count == 1024 || count == 16384) word_.fetch_or(kDue);
  }
  // True for one caller, once a listing is due.
  bool TakeReaddirHint() {
    return (word_.load() & kDue) != 0 && (word_.fetch_and(kCount) & kDue) != 0;
  }
  // Cheap where there is nothing to reset.
  void Reset() {
    if (word_.load() != 0) word_.store(0);
  }

 private:
  // A count that stops at its highest value, and a bit.
  static constexpr uint16_t kDue = 0x8000;
  static constexpr uint16_t kCount = kDue - 1;

  std::atomic<uint16_t> word_{0};
};

}  // namespace nfswalk::icache

#endif  // NFSWALK_NFSCLIENT_ICACHE_LOOKUP_MISSES_H_
