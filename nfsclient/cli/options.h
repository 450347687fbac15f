// options: the command line options of all commands.
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
  std::string url;  // the source of `mount`
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

// The credential of the calls: this process's, unless uid, gid or groups is given. Then uid and gid
// default to the process's effective ones, groups to none.
sunrpc_auth::Credential CredentialOf(const CommonOptions& options);

// Decimal, 0 to 4294967295: users, groups, depths.
std::expected<uint32_t, std::string> ParseNumber(std::string_view text);
// "" or numbers separated by commas.
std::expected<std::vector<uint32_t>, std::string> ParseNumbers(std::string_view text);

}  // namespace nfswalk::cli

#endif  // NFSWALK_NFSCLIENT_CLI_OPTIONS_H_
