// options: what all commands have in common on the command line.
#ifndef NFSWALK_NFSCLIENT_CLI_OPTIONS_H_
#define NFSWALK_NFSCLIENT_CLI_OPTIONS_H_

#include <CLI/CLI.hpp>
#include <cstdint>
#include <expected>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "nfsclient/client.h"

namespace nfswalk::cli {

struct CommonOptions {
  MountOptions mount;
  std::string url;  // what `mount` was read from
  std::vector<std::string> paths;
  bool json = false;
  std::optional<uint32_t> uid;
  std::optional<uint32_t> gid;
  std::optional<std::vector<uint32_t>> groups;
};

// kTwoOrMore: the last one is a path of this machine.
enum class Paths { kOneOrMore, kDefaultToRoot, kTwoOrMore };

// Declares URL, PATH, --json, --uid, --gid and --groups, and the end of the help text: `examples`,
// then the exit codes. Wrong values are CLI::ValidationErrors that name the value and what is
// accepted. `options` and `command` live until parsing is over.
void DeclareCommonOptions(CLI::App& command, CommonOptions& options, Paths paths,
                          const std::string& examples);

// Who asks: this process, unless one of uid, gid and groups is given. Then those not given are this
// process' effective uid and gid, and no supplementary groups.
sunrpc_auth::Credential CredentialOf(const CommonOptions& options);

// Decimal, 0 to 4294967295: users, groups, depths.
std::expected<uint32_t, std::string> ParseNumber(std::string_view text);
// "" or numbers separated by commas.
std::expected<std::vector<uint32_t>, std::string> ParseNumbers(std::string_view text);

}  // namespace nfswalk::cli

#endif  // NFSWALK_NFSCLIENT_CLI_OPTIONS_H_
