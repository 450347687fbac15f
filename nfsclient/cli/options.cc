#include "nfsclient/cli/options.h"

#include <fmt/format.h>

#include <charconv>
#include <system_error>
#include <utility>

#include "nfsclient/cli/verbatim.h"

namespace nfswalk::cli {
namespace {

using sunrpc_auth::Credential;

constexpr const char* kExitCodes =
    "\nExit codes: 0 all went well, 1 some path failed or the output could not be written, 2 "
    "wrong\n"
    "command line, 3 not mounted or the server stopped answering.\n";

}  // namespace

void DeclareCommonOptions(CLI::App& command, CommonOptions& options, Paths paths,
                          const std::string& examples) {
  auto set_mount = [&options](const std::string& url) {
    options.url = url;
    return ParseMountUrl(url);
  };
  AddValue(command, "URL", options.mount, "nfs://host[:port]/export[?option&...]", set_mount)
      ->required();
  const CLI::callback_t set_paths = [&options, paths](const CLI::results_t& results) {
    if (paths == Paths::kTwoOrMore && results.size() < 2) {
      throw CLI::ValidationError("PATH", "'" + Verbatim(results.front()) +
                                             "' alone: accepted are paths of the export and, last, "
                                             "a path of this machine");
    }
    options.paths.clear();
    for (const std::string& path : results) options.paths.push_back(Verbatim(path));
    return true;
  };
  CLI::Option* path =
      command
          .add_option("PATH", set_paths,
                      "paths inside the export, from its root (after -- if one begins with a dash)")
          ->expected(1, -1)
          ->allow_extra_args();
  if (paths == Paths::kDefaultToRoot) {
    options.paths = {"."};
  } else {
    path->required();
  }
  command.add_flag("--json", options.json, "print JSON lines, one object per result");
  AddValue(command, "--uid", options.uid, "call as this user", ParseNumber)->type_name("NUMBER");
  AddValue(command, "--gid", options.gid, "call as this group", ParseNumber)->type_name("NUMBER");
  AddValue(command, "--groups", options.groups, "with these supplementary groups", ParseNumbers)
      ->type_name("NUMBER,...");
  command.footer(examples + kExitCodes);
}

Credential CredentialOf(const CommonOptions& options) {
  const Credential process = Credential::OfProcess();
  if (!options.uid && !options.gid && !options.groups) return process;
  return Credential(options.uid.value_or(process.uid()), options.gid.value_or(process.gid()),
                    options.groups.value_or(std::vector<uint32_t>()));
}

std::expected<uint32_t, std::string> ParseNumber(std::string_view text) {
  uint32_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc{} || end != text.data() + text.size()) {
    return std::unexpected(fmt::format("'{}': accepted is a number from 0 to 4294967295", text));
  }
  return number;
}

std::expected<std::vector<uint32_t>, std::string> ParseNumbers(std::string_view text) {
  std::vector<uint32_t> numbers;
  while (!text.empty()) {
    const size_t comma = text.find(',');
    auto number = ParseNumber(text.substr(0, comma));
    if (!number) return std::unexpected(std::move(number.error()));
    numbers.push_back(*number);
    if (comma == std::string_view::npos) break;
    text.remove_prefix(comma + 1);
    if (text.empty()) return std::unexpected("nothing after the last comma: accepted is 4,24,27");
  }
  return numbers;
}

}  // namespace nfswalk::cli
