// name: one path component and its 64-bit hash.
//
// The hash mixes the parent's address and a secret per-process seed with the bytes, so that equal names in
// different directories spread and nobody can choose colliding ones (vfs_walk 3). Its low 8 bits are
// the length (names have at most 255 bytes), so one comparison of words decides nearly all misses.
//
// Names are read eight bytes at a time and therefore live in memory that is readable, and zero after
// the name or holding '/' there, up to kNamePadding bytes beyond: PathBuffer and PaddedName give that.
//
// Thread safety: as any value.
#ifndef NFSWALK_NFSCLIENT_VFS_NAME_H_
#define NFSWALK_NFSCLIENT_VFS_NAME_H_

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

namespace nfswalk::vfs {

struct Dentry;

inline constexpr size_t kNameMax = 255;
inline constexpr size_t kNamePadding = 8;

// Drawn once per process.
extern const uint64_t hash_seed;

struct Name {
  const char* data = nullptr;
  size_t length = 0;
  uint64_t hash = 0;  // 0 is never the hash of a name

  std::string_view view() const { return {data, length}; }
};

inline uint64_t LoadWord(const char* bytes) {
  uint64_t word;
  std::memcpy(&word, bytes, sizeof word);
  return word;
}

// The low `count` bytes of a word, 0 <= count < 8.
inline uint64_t KeepBytes(uint64_t word, size_t count) {
  return word & ((uint64_t{1} << (8 * count)) - 1);
}

namespace internal {
inline constexpr uint64_t kMultiplier = 0x9E3779B97F4A7C15;
inline uint64_t MixStart(const Dentry* parent) {
  return hash_seed ^ (reinterpret_cast<uintptr_t>(parent) * kMultiplier);
}
inline uint64_t MixWord(uint64_t state, uint64_t word) {
  return (std::rotl(state, 23) ^ word) * kMultiplier;
}
// The length goes into the low byte; the bits above it index the table.
inline uint64_t MixEnd(uint64_t state, size_t length) {
  state ^= state >> 32;
  state *= 0xD6E8FEB86659FD93;
  state ^= state >> 29;
  return (state & ~uint64_t{0xff}) | (length & 0xff);
}
// Nonzero where a byte of `word` is zero; the lowest set bit is exact.
inline uint64_t ZeroBytes(uint64_t word) {
  return (word - 0x0101010101010101) & ~word & 0x8080808080808080;
}
}  // namespace internal

// Reads the component that begins at `text` (not a '/') and ends before the next '/' or NUL, hashing on
// the way. A component longer than kNameMax still gets its true length.
inline Name ScanName(const char* text, const Dentry* parent) {
  uint64_t state = internal::MixStart(parent);
  const char* at = text;
  for (;;) {
    uint64_t word = LoadWord(at);
    uint64_t ends =
        internal::ZeroBytes(word) | internal::ZeroBytes(word ^ 0x2f2f2f2f2f2f2f2f);
    if (ends != 0) {
      size_t tail = static_cast<size_t>(std::countr_zero(ends)) / 8;
      state = internal::MixWord(state, KeepBytes(word, tail));
      size_t length = static_cast<size_t>(at - text) + tail;
      return {text, length, internal::MixEnd(state, length)};
    }
    state = internal::MixWord(state, word);
    at += 8;
  }
}

// A name from elsewhere (a directory listing, the last component of a new file), copied so that it can
// be read word by word.
class PaddedName {
 public:
  // Preconditions: name.size() <= kNameMax, no NUL, no '/', not empty.
  PaddedName(std::string_view name, const Dentry* parent) {
    std::memcpy(bytes_.data(), name.data(), name.size());
    std::memset(bytes_.data() + name.size(), 0, kNamePadding);
    name_ = ScanName(bytes_.data(), parent);
  }
  const Name& name() const { return name_; }
  PaddedName(const PaddedName&) = delete;
  PaddedName& operator=(const PaddedName&) = delete;

 private:
  Name name_;
  std::array<char, kNameMax + 1 + kNamePadding> bytes_;
};

}  // namespace nfswalk::vfs

#endif  // NFSWALK_NFSCLIENT_VFS_NAME_H_
