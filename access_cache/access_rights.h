// access_rights: what the server's ACCESS bits allow (ACCESS-3; RFC 1813 3.3.4).
//
// Caches hold the raw bits, which are mapped at each check: rights merged when stored gave wrong
// answers.
//
// Thread safety: pure functions.
#ifndef NFSWALK_ACCESS_CACHE_ACCESS_RIGHTS_H_
#define NFSWALK_ACCESS_CACHE_ACCESS_RIGHTS_H_

#include <cstdint>

namespace nfswalk::access_cache {

// Server bits, as in the ACCESS procedure.
inline constexpr uint32_t kServerRead = 0x01;
inline constexpr uint32_t kServerLookup = 0x02;
inline constexpr uint32_t kServerModify = 0x04;
inline constexpr uint32_t kServerExtend = 0x08;
inline constexpr uint32_t kServerDelete = 0x10;
inline constexpr uint32_t kServerExecute = 0x20;

// May bits, as in access(2).
inline constexpr uint32_t kMayExec = 1;
inline constexpr uint32_t kMayWrite = 2;
inline constexpr uint32_t kMayRead = 4;

// The server bits that `may_mask` needs, all of them. A directory is written by adding, changing
// and removing names, and executed by searching it; a file is not deleted through itself.
constexpr uint32_t ServerBitsFor(uint32_t may_mask, bool directory) {
  uint32_t bits = 0;
  if (may_mask & kMayRead) bits |= kServerRead;
  if (may_mask & kMayWrite) bits |= kServerModify | kServerExtend | (directory ? kServerDelete : 0);
  if (may_mask & kMayExec) bits |= directory ? kServerLookup : kServerExecute;
  return bits;
}

// True if `server_bits` allow everything in `may_mask`; an empty mask is always granted.
constexpr bool Grants(uint32_t server_bits, uint32_t may_mask, bool directory) {
  const uint32_t needed = ServerBitsFor(may_mask, directory);
  return (server_bits & needed) == needed;
}

}  // namespace nfswalk::access_cache

#endif  // NFSWALK_ACCESS_CACHE_ACCESS_RIGHTS_H_
