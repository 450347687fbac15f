// stat_format: what `stat --format` prints: coreutils' %-directives, as far as a server says what
// they stand for.
//
// Thread safety: as owner_name.h; the time zone of the process (tzset(3)).
#ifndef NFSWALK_NFSCLIENT_CLI_SHOW_STAT_FORMAT_H_
#define NFSWALK_NFSCLIENT_CLI_SHOW_STAT_FORMAT_H_

#include <cstddef>
#include <expected>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "nfsclient/client.h"

namespace nfswalk::cli {

// The facts of one file that are printed.
struct StatSubject {
  std::string name;
  std::string target;    // "" for all but links
  bool escaped = false;  // names as Escape() has them: for a terminal. %N always is
  Attributes attributes = {};
  // StatBlock() alone prints these, escaped: the ACL's entries; extended attributes with their
  // values.
  std::vector<std::string> acl = {};
  std::vector<std::pair<std::string, std::string>> xattrs = {};
};

class StatFormat {
 public:
  // The error names the directive that is not accepted, and those that are.
  static std::expected<StatFormat, std::string> Parse(std::string_view text);

  // No newline is added.
  std::string Render(const StatSubject& subject) const;

 private:
  struct Piece {
    std::string literal;      // printed before what follows
    char device_part = '\0';  // 'H' or 'L' in %Hr and %Lr
    char directive = '\0';    // NUL: nothing follows
    bool left = false;
    bool zeros = false;
    bool alternate = false;
    size_t width = 0;
    std::optional<size_t> precision = {};
  };

  static std::expected<Piece, std::string> ParseDirective(std::string_view& rest);
  static std::string RenderPiece(const Piece& piece, const StatSubject& subject);

  std::vector<Piece> pieces_;
};

// The block that stat(1) prints, with what a server says of a file; one newline at its end.
std::string StatBlock(const StatSubject& subject);

}  // namespace nfswalk::cli

#endif  // NFSWALK_NFSCLIENT_CLI_SHOW_STAT_FORMAT_H_
