// name: one path component and its 64-bit hash.
//
// The hash mixes the parent's address and two secret per-process keys with the bytes, so that equal
// names in different directories spread and neither a server nor its users can choose colliding
// ones (WALK-26). Its low 8 bits are the length (names have at most 255 bytes), so one comparison
// of words decides nearly all misses.
//
// Names are read sixteen bytes at a time and therefore live in memory that is readable up to
// kNamePadding bytes beyond their end: PathBuffer and PaddedName give that.
//
// Thread safety: as any value.
#ifndef NFSWALK_NFSCLIENT_VFS_NAME_H_
#define NFSWALK_NFSCLIENT_VFS_NAME_H_

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

namespace nfswalk::vfs {

struct Dentry;

inline constexpr size_t kNameMax = 255;
inline constexpr size_t kNamePadding = 16;

// Drawn once per process.
struct HashKeys {
  uint64_t start;
  uint64_t block;
};
extern const HashKeys hash_keys;

struct Name {
  const char* data = nullptr;
  size_t length = 0;
  uint64_t hash = 0;  // 0 is never the hash of a name
  // The first sixteen bytes, zero beyond the end: most names are compared by these alone.
  uint64_t word0 = 0;
  uint64_t word1 = 0;

  std::string_view view() const { return {data, length}; }
};

inline uint64_t LoadWord(const char* bytes) {
  uint64_t word;
  std::memcpy(&word, bytes, sizeof word);
  return word;
}

namespace internal {

inline constexpr uint64_t kMultiplier = 0x9E3779B97F4A7C15;
inline constexpr size_t kBlock = 16;

inline uint64_t MixStart(const Dentry* parent) {
  return hash_keys.start ^ (reinterpret_cast<uintptr_t>(parent) * kMultiplier);
}
// Multiplies two words that each have a secret in them, and folds the 128 bits of the product. A
// product with a known factor does not do: flipping the highest bit of a word flips that of its
// product whatever the state, and two words of one block can be chosen to undo each other.
inline uint64_t MixBlock(uint64_t state, uint64_t word0, uint64_t word1) {
  __extension__ using Product = unsigned __int128;
  const Product product = Product{state ^ word0} * (hash_keys.block ^ word1);
  return static_cast<uint64_t>(product) ^ static_cast<uint64_t>(product >> 64);
}
// Puts the length into the low byte; the bits above it index the table. Each bit of a folded
// product depends on all bits of both factors, so nothing is left to mix.
inline uint64_t WithLength(uint64_t state, size_t length) {
  return (state & ~uint64_t{0xff}) | (length & 0xff);
}

// Bit i is set if byte i of the next sixteen is '/' or NUL.
inline unsigned EndsIn(const char* bytes) {
#if defined(__SSE2__)
  const __m128i block = _mm_loadu_si128(reinterpret_cast<const __m128i*>(bytes));
  const __m128i ends = _mm_or_si128(_mm_cmpeq_epi8(block, _mm_set1_epi8('/')),
                                    _mm_cmpeq_epi8(block, _mm_setzero_si128()));
  return static_cast<unsigned>(_mm_movemask_epi8(ends));
#else
  unsigned ends = 0;
  for (size_t i = 0; i < kBlock; ++i) {
    ends |= static_cast<unsigned>(bytes[i] == '/' || bytes[i] == 0) << i;
  }
  return ends;
#endif
}

}  // namespace internal

namespace internal {

// The words of the last block of a name, of which `tail` < 16 bytes belong to it.
struct LastBlock {
  uint64_t word0;
  uint64_t word1;
};
inline LastBlock LoadLastBlock(const char* at, size_t tail) {
  const uint64_t keep = (uint64_t{1} << (8 * (tail % 8))) - 1;
  const uint64_t word0 = LoadWord(at);
  const uint64_t word1 = LoadWord(at + 8) & keep;
  return tail < 8 ? LastBlock{word0 & keep, 0} : LastBlock{word0, word1};
}

// The rest of a name whose first block did not end it.
Name ScanLongName(const char* text, uint64_t state);

}  // namespace internal

// Reads the component that begins at `text` (not a '/') and ends before the next '/' or NUL,
// hashing on the way. A component longer than kNameMax still gets its true length.
inline Name ScanName(const char* text, const Dentry* parent) {
  const uint64_t state = internal::MixStart(parent);
  const unsigned ends = internal::EndsIn(text);
  if (ends == 0) [[unlikely]]
    return internal::ScanLongName(text, state);
  const auto length = static_cast<size_t>(std::countr_zero(ends));
  const auto [word0, word1] = internal::LoadLastBlock(text, length);
  const uint64_t hash = internal::WithLength(internal::MixBlock(state, word0, word1), length);
  return {text, length, hash, word0, word1};
}

// The hash of a whole path, of at least one byte. `salt` as the caller needs it.
inline uint64_t HashPath(std::string_view path, uint64_t salt) {
  uint64_t state = hash_keys.start ^ (salt * internal::kMultiplier);
  const char* at = path.data();
  size_t left = path.size();
  for (; left > internal::kBlock; left -= internal::kBlock, at += internal::kBlock) {
    state = internal::MixBlock(state, LoadWord(at), LoadWord(at + 8));
  }
  // A whole last block has no byte to be masked out.
  const internal::LastBlock last = left == internal::kBlock
                                       ? internal::LastBlock{LoadWord(at), LoadWord(at + 8)}
                                       : internal::LoadLastBlock(at, left);
  return internal::WithLength(internal::MixBlock(state, last.word0, last.word1), path.size());
}

// Combines `hash` with an object's address.
inline uint64_t HashOfBoth(uint64_t hash, const void* object) {
  const uint64_t mixed = internal::MixBlock(hash, reinterpret_cast<uintptr_t>(object), 0);
  return internal::WithLength(mixed, 0);
}

// A copy, with padding, of a name that is not part of a PathBuffer (of a listing, of a new file).
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
