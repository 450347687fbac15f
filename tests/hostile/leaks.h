// leaks: what a victim has let out of its bounds: to a terminal, to a path, of memory.
//
// Thread safety: all functions.
#ifndef NFSWALK_TESTS_HOSTILE_LEAKS_H_
#define NFSWALK_TESTS_HOSTILE_LEAKS_H_

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>

#include "tests/hostile/hostile_names.h"

namespace nfswalk::hostile {

// KiB that a victim may take above what it takes without an attack.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
inline constexpr long kMoreKibMax = 1024 * 1024;  // they keep what was freed
#else
inline constexpr long kMoreKibMax = 64 * 1024;
#endif

// Whether anything is below `place` now but its directory "a", where "copy" is the target.
inline bool IsAnythingBeside(const std::string& place) {
  for (const auto& entry : std::filesystem::recursive_directory_iterator(place)) {
    const std::string path = entry.path();
    const bool is_copied = (path + "/").starts_with(place + "/a/copy/");
    if (!is_copied && path != place + "/a") return true;
  }
  return std::filesystem::exists(
      std::filesystem::symlink_status("/tmp/" + std::string(kEscapedName)));
}

// Whether `text` has nothing that acts on a terminal. Judged apart from cli/show/escape.h, which is what
// is tested.
inline bool IsSafeForTerminal(std::string_view text) {
  for (size_t i = 0; i < text.size();) {
    const auto lead = static_cast<uint8_t>(text[i]);
    if ((lead < 0x20 && lead != '\n' && lead != '\t') || lead == 0x7f) return false;
    const size_t length = lead < 0x80 ? 1 : lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : 4;
    if ((lead >= 0x80 && lead < 0xc2) || length > text.size() - i) return false;  // no UTF-8
    const std::string_view character = text.substr(i, length);
    for (const char byte : character.substr(1)) {
      if ((static_cast<uint8_t>(byte) & 0xc0) != 0x80) return false;
    }
    if (lead == 0xc2 && static_cast<uint8_t>(character[1]) < 0xa0) return false;  // C1
    // Unicode's Bidi_Control.
    const bool is_mark = character == "\u061c" || character == "\u200e" || character == "\u200f";
    const bool is_embedding = character >= "\u202a" && character <= "\u202e";
    const bool is_isolate = character >= "\u2066" && character <= "\u2069";
    if (length > 1 && (is_mark || is_embedding || is_isolate)) return false;
    i += length;
  }
  return true;
}

}  // namespace nfswalk::hostile

#endif  // NFSWALK_TESTS_HOSTILE_LEAKS_H_
