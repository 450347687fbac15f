// hostile_names: names and link texts of both versions, with what Linux makes of them.
#ifndef NFSWALK_TESTS_HOSTILE_HOSTILE_NAMES_H_
#define NFSWALK_TESTS_HOSTILE_HOSTILE_NAMES_H_

#include <string>
#include <string_view>
#include <system_error>
#include <vector>

namespace nfswalk::hostile {

struct HostileName {
  std::string title;
  std::string bytes;
  std::vector<std::errc> errors = {};  // any of them; empty: it may be listed, escaped
};

// Name of a file outside of a copy's target, which no copy may make.
inline constexpr std::string_view kEscapedName = "nfswalk_escaped";

inline std::vector<HostileName> HostileNames() {
  using namespace std::string_literals;
  const std::string escaped(kEscapedName);
  const std::errc eio = std::errc::io_error, too_long = std::errc::filename_too_long;
  return {
      // fs/readdir.c: verify_dirent_name().
      {"NameWithSlash", "a/b", {eio}},
      {"NameThatLeadsUp", "../" + escaped, {eio}},
      {"NameThatIsAbsolute", "/tmp/" + escaped, {eio}},
      {"NameOfNoBytes", "", {eio}},
      {"NameWithNul", "a\0b"s, {eio}},
      // fs/nfs/nfs3xdr.c: decode_inline_filename3().
      {"NameOf256Bytes", std::string(256, 'n'), {eio, too_long}},
      {"NameOf100000Bytes", std::string(100'000, 'n'), {eio, too_long}},
      {"NameDot", "."},
      {"NameDotDot", ".."},
      {"NameWithEscapeSequence", "\033]0;title\007\033[31mred\033[2J"},
      {"NameWithC1Control", "a\u009b2Jb"},
      {"NameWithReversedText", "a\u202egpj.exe"},
      {"NameNotUtf8", "a\xff\xfe\x9b"},
      {"NameWithNewline", "a\nb\rc"},
      {"NameLikeAnOption", "--help"},
  };
}

inline std::vector<HostileName> HostileLinkTexts() {
  using namespace std::string_literals;
  const std::errc eio = std::errc::io_error, too_long = std::errc::filename_too_long;
  return {
      {"WithNul", "a\0b"s, {eio}},
      // fs/namei.c: getname_flags() of an empty path.
      {"OfNoBytes", "", {eio, std::errc::no_such_file_or_directory}},
      // fs/nfs/nfs3xdr.c: decode_nfspath3().
      {"Of4097Bytes", std::string(4097, 't'), {eio, too_long}},
      {"OfAMiB", std::string(1024 * 1024, 't'), {eio, too_long}},
      {"WithEscapeSequence", "\033]0;title\007\033[31m"},
      {"ThatIsAbsolute", "/tmp/" + std::string(kEscapedName)},
      {"ThatLeadsToItself", "link"},
  };
}

}  // namespace nfswalk::hostile

#endif  // NFSWALK_TESTS_HOSTILE_HOSTILE_NAMES_H_
