#include "nfsclient/cli/verbatim.h"

namespace nfswalk::cli {

std::vector<std::string> ProtectArguments(int argc, const char* const* argv) {
  std::vector<std::string> arguments;
  for (int i = argc - 1; i > 0; --i) {
    std::string& argument = arguments.emplace_back(argv[i]);
    if (argument.starts_with('[') || argument.starts_with('{')) argument += '\0';
  }
  return arguments;
}

std::string Verbatim(std::string argument) {
  if (argument.ends_with('\0')) argument.pop_back();
  return argument;
}

}  // namespace nfswalk::cli
