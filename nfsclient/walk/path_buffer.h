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
    if (std::memchr(path.data(), 0, path.size()) != nullptr) return std::errc::invalid_argument;
    // Keeps the larger array of an earlier pass.
    begin_ = heap_.empty() ? inline_ : heap_.data();
    end_ = heap_.empty() ? inline_ + kInline : begin_ + heap_.size() - vfs::kNamePadding;
    at_ = end_ - path.size();
    std::memcpy(at_, path.data(), path.size());
    std::memset(end_, 0, vfs::kNamePadding);
    return {};
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
