// command_line: from the arguments of main() to what is to be run.
//
// Thread safety: pure function.
#ifndef NFSWALK_NFSCLIENT_CLI_COMMAND_LINE_H_
#define NFSWALK_NFSCLIENT_CLI_COMMAND_LINE_H_

#include <expected>
#include <string>

#include "nfsclient/cli/commands/commands.h"
#include "nfsclient/cli/exit_code.h"
#include "nfsclient/cli/session.h"

namespace nfswalk::cli {

struct Invocation {
  std::string command;
  CommonOptions common;
  CommandOptions options;
};

// kExitOk: a help text, for standard output. kExitUsage: what is wrong, for standard error; a wrong
// value is named with what is accepted, terminal escapes in it made visible.
struct NoInvocation {
  ExitCode code = kExitUsage;
  std::string text;
};

std::expected<Invocation, NoInvocation> ParseCommandLine(int argc, const char* const* argv);

}  // namespace nfswalk::cli

#endif  // NFSWALK_NFSCLIENT_CLI_COMMAND_LINE_H_
