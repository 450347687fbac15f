// path_buffer: the part of a path that is still to be walked.
//
// A copy of the path at the end of a fixed array, padded so that names can be read by words.
// Following a symbolic link writes its text in front of the rest (WALK-10): a walk needs no stack
// of links and keeps none of them alive. The array takes one longest path in front of another; more
// (long links in long paths) goes to the heap, which RCU-walk may not use (WALK-28).
//
// Thread safety: one walk's own.
#ifndef NFSWALK_NFSCLIENT_WALK_PATH_BUFFER_H_
#define NFSWALK_NFSCLIENT_WALK_PATH_BUFFER_H_

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

#include <bit>
#include <cstddef>
#include <cstring>
#include <string_view>
#include <system_error>
#include <vector>

#include "nfsclient/vfs/name.h"

namespace nfswalk::walk {

class PathBuffer {
 public:
  static constexpr size_t kPathMax = 4096;  // PATH_MAX: 4095 bytes and a NUL

  PathBuffer() = default;
  PathBuffer(const PathBuffer&) = delete;
  PathBuffer& operator=(const PathBuffer&) = delete;

  // Errors: no_such_file_or_directory for ""; filename_too_long; invalid_argument for a NUL inside.
  std::errc Assign(std::string_view path) {
    if (path.empty()) return std::errc::no_such_file_or_directory;
    if (path.size() >= kPathMax) return std::errc::filename_too_long;
    // Keeps the larger array of an earlier pass.
    begin_ = heap_.empty() ? inline_ : heap_.data();
    end_ = heap_.empty() ? inline_ + kInline : begin_ + heap_.size() - vfs::kNamePadding;
    at_ = end_ - path.size();
    std::memset(end_, 0, vfs::kNamePadding);
    const bool has_nul =
        path.size() < kBlock ? CopyShort(path.data(), path.size()) : Copy(path.data(), path.size());
    return has_nul ? std::errc::invalid_argument : std::errc{};
  }

  // The path without its last component and the slashes before that; empty if there are none.
  // Preconditions: nothing has moved since Assign().
  std::string_view prefix() const {
    if (last_slash_ == nullptr) return {};
    size_t length = static_cast<size_t>(last_slash_ - at_);
    while (length > 0 && at_[length - 1] == '/') --length;
    return {at_, length};
  }

  void SkipSlashes() {
    while (*at_ == '/') ++at_;
  }
  bool AtEnd() const { return at_ == end_; }
  const char* at() const { return at_; }
  std::string_view rest() const { return {at_, static_cast<size_t>(end_ - at_)}; }
  void AdvanceTo(const char* position) { at_ += position - at_; }

  // Puts a link's text in front of the rest, which begins at `rest`. False, with nothing changed,
  // if it does not fit and `may_allocate` is false. Throws std::bad_alloc if it is true.
  bool Splice(std::string_view text, const char* rest, bool may_allocate) {
    size_t space = static_cast<size_t>(rest - begin_);
    if (text.size() > space) {
      if (!may_allocate) return false;
      Grow(text.size(), rest);
    } else {
      AdvanceTo(rest);
    }
    at_ -= text.size();
    std::memcpy(at_, text.data(), text.size());
    return true;
  }

 private:
  static constexpr size_t kInline = 2 * kPathMax;
  static constexpr size_t kBlock = 16;

  // Copies a path to at_, sets last_slash_, and returns whether a NUL is in it, as the next one
  // does. One pass over the path: three, by memchr(), memcpy() and memrchr(), cost a fifth more of
  // what a hit does to it.
#if defined(__SSE2__)
  // Preconditions: less than a block; the padding is there.
  bool CopyShort(const char* path, size_t bytes) {
    std::memcpy(at_, path, bytes);
    const __m128i block = _mm_loadu_si128(reinterpret_cast<const __m128i*>(at_));
    const unsigned kept = (1u << bytes) - 1;
    const auto slashes =
        kept & static_cast<unsigned>(_mm_movemask_epi8(_mm_cmpeq_epi8(block, _mm_set1_epi8('/'))));
    const auto nuls =
        kept & static_cast<unsigned>(_mm_movemask_epi8(_mm_cmpeq_epi8(block, _mm_setzero_si128())));
    last_slash_ = slashes != 0 ? at_ + std::bit_width(slashes) - 1 : nullptr;
    return nuls != 0;
  }
  // Preconditions: at least a block.
  bool Copy(const char* path, size_t bytes) {
    const __m128i slash = _mm_set1_epi8('/');
    __m128i nuls = _mm_setzero_si128();
    const char* last = nullptr;
    const auto copy_block = [&](size_t offset) {
      const __m128i block = _mm_loadu_si128(reinterpret_cast<const __m128i*>(path + offset));
      _mm_storeu_si128(reinterpret_cast<__m128i*>(at_ + offset), block);
      nuls = _mm_or_si128(nuls, _mm_cmpeq_epi8(block, _mm_setzero_si128()));
      const auto slashes = static_cast<unsigned>(_mm_movemask_epi8(_mm_cmpeq_epi8(block, slash)));
      if (slashes != 0) last = at_ + offset + std::bit_width(slashes) - 1;
    };
    for (size_t offset = 0; offset + kBlock < bytes; offset += kBlock) copy_block(offset);
    copy_block(bytes - kBlock);  // may overlap with the one before
    last_slash_ = last;
    return _mm_movemask_epi8(nuls) != 0;
  }
#else
  bool CopyShort(const char* path, size_t bytes) { return Copy(path, bytes); }
  bool Copy(const char* path, size_t bytes) {
    std::memcpy(at_, path, bytes);
    last_slash_ = static_cast<const char*>(memrchr(at_, '/', bytes));
    return std::memchr(path, 0, bytes) != nullptr;
  }
#endif

  // Moves the rest to the end of a larger array, `extra` bytes and more in front of it. Bounded by
  // 40 links of 4095 bytes.
  void Grow(size_t extra, const char* rest) {
    size_t left = static_cast<size_t>(end_ - rest);
    std::vector<char> larger;
    larger.resize(left + extra + kInline + vfs::kNamePadding);
    char* end = larger.data() + larger.size() - vfs::kNamePadding;
    std::memcpy(end - left, rest, left);
    heap_.swap(larger);
    begin_ = heap_.data();
    end_ = end;
    at_ = end_ - left;
  }

  char* begin_ = nullptr;
  char* at_ = nullptr;
  char* end_ = nullptr;
  const char* last_slash_ = nullptr;  // as Assign() found it; nullptr: none
  std::vector<char> heap_;
  char inline_[kInline + vfs::kNamePadding];  // not cleared: written before it is read
};

// True if nothing but slashes follows the name.
inline bool IsLast(const vfs::Name& name) {
  const char* rest = name.data + name.length;
  while (*rest == '/') ++rest;
  return *rest == 0;
}

// True for "." and "..".
inline bool IsDots(const vfs::Name& name) {
  return name.data[0] == '.' && name.length <= 2 && (name.length == 1 || name.data[1] == '.');
}

}  // namespace nfswalk::walk

#endif  // NFSWALK_NFSCLIENT_WALK_PATH_BUFFER_H_
