// leaks: what a victim has let out of its bounds: to a terminal, to a path, of memory.
//
// Thread safety: all functions.
#ifndef NFSWALK_TESTS_HOSTILE_LEAKS_H_
#define NFSWALK_TESTS_HOSTILE_LEAKS_H_

#include <cstddef>
#include <filesystem>
#include <string>
#include <string_view>

#include "nfsclient/cli/escape.h"
#include "tests/hostile/hostile_names.h"

namespace nfswalk::hostile {

// That a victim may take above what it takes without an attack.
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

// Whether `text` has only what the commands print between names, and what cli/escape.h leaves of
// names.
inline bool IsSafeForTerminal(std::string_view text) {
  size_t begin = 0;
  for (size_t i = 0; i <= text.size(); ++i) {
    if (i < text.size() && text[i] != '\n' && text[i] != '\t' && text[i] != '\\') continue;
    if (cli::Escape(text.substr(begin, i - begin)) != text.substr(begin, i - begin)) return false;
    begin = i + 1;
  }
  return true;
}

}  // namespace nfswalk::hostile

#endif  // NFSWALK_TESTS_HOSTILE_LEAKS_H_
