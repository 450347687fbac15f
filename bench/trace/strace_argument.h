// strace_argument: the pieces that strace prints between the parentheses and after the "=".
#ifndef NFSWALK_BENCH_TRACE_STRACE_ARGUMENT_H_
#define NFSWALK_BENCH_TRACE_STRACE_ARGUMENT_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace nfswalk::bench {

// Offset of the parenthesis that closes a call's arguments, npos if there is none. Quoted text,
// nested brackets and the <...> of -y are skipped.
size_t FindArgumentsEnd(std::string_view text);

// The arguments between top-level commas, without spaces around them.
std::vector<std::string_view> SplitArguments(std::string_view arguments);

// A quoted string with its escapes (\n, \", \\, \33, \x1b ...) undone.
struct QuotedText {
  std::string bytes;
  bool cut_short = false;  // strace printed "..." after the closing quote
};
// Nullopt if `argument` is no quoted string (NULL, an address).
std::optional<QuotedText> ParseQuoted(std::string_view argument);

// What -y says of a descriptor: 3</usr/lib>, AT_FDCWD</src>, 4<pipe:[17]>, 5</tmp/x>(deleted).
struct Descriptor {
  bool working_directory = false;  // AT_FDCWD
  bool annotated = false;
  bool has_path = false;  // the annotation is the path of an existing file
  std::string path;
};
// Nullopt if `argument` is neither a number nor AT_FDCWD.
std::optional<Descriptor> ParseDescriptor(std::string_view argument);

struct CallResult {
  bool known = false;  // false: "?", the process ended inside the call
  int64_t value = 0;
  int error = 0;                         // errno; 0: success. -1: a name unknown here
  std::optional<Descriptor> descriptor;  // where the value is an annotated descriptor
};
CallResult ParseResult(std::string_view result);

// The attributes inside {st_mode=S_IFREG|0644, st_size=12, ...} or statx's {stx_mode=...,
// stx_size=...}.
struct RecordedAttributes {
  uint32_t mode = 0;  // type and permission bits, as st_mode
  std::optional<uint64_t> size_bytes;
  uint32_t rdev_major = 0;
  uint32_t rdev_minor = 0;
};
// Nullopt if `argument` is no such structure.
std::optional<RecordedAttributes> ParseAttributes(std::string_view argument);

// True if `name` is one of the words of a flag list such as O_RDONLY|O_CLOEXEC.
bool HasFlag(std::string_view flags, std::string_view name);

}  // namespace nfswalk::bench

#endif  // NFSWALK_BENCH_TRACE_STRACE_ARGUMENT_H_
