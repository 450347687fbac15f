// find_filter: which files `nfswalk find` prints. The tests are those of find(1), and all that are
// set have to hold.
//
// Thread safety: as any value.
#ifndef NFSWALK_NFSCLIENT_CLI_COMMANDS_FIND_FILTER_H_
#define NFSWALK_NFSCLIENT_CLI_COMMANDS_FIND_FILTER_H_

#include <cstdint>
#include <expected>
#include <optional>
#include <string>
#include <string_view>

#include "nfsclient/client.h"

namespace nfswalk::cli {

// find -size: the size in units, rounded up, is the number, more ('+') or less ('-').
struct SizeTest {
  char sign = '=';
  uint64_t units = 0;
  uint64_t unit_bytes = 512;

  bool Matches(uint64_t size_bytes) const;
};

// "10", "+10k", "-2M": units are b (512 bytes, also without a letter), c (bytes), w (2 bytes), k, M
// and G. The error names the value and what is accepted.
std::expected<SizeTest, std::string> ParseSizeTest(std::string_view text);

// "f", "f,l": letters as in `find -type`.
std::expected<std::string, std::string> ParseTypes(std::string_view text);

struct FindFilter {
  // Shell patterns (glob(7)): for the last component, the same whatever its case, for the path.
  std::optional<std::string> name = {};
  std::optional<std::string> iname = {};
  std::optional<std::string> path = {};
  std::string types = {};  // "" matches all
  std::optional<SizeTest> size = {};
  std::optional<protocol::Time> newer = {};  // modified after this

  bool Matches(const std::string& file_path, const Attributes& attributes) const;
};

}  // namespace nfswalk::cli

#endif  // NFSWALK_NFSCLIENT_CLI_COMMANDS_FIND_FILTER_H_
