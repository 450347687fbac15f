// commands: the subcommands of nfswalk. Each declares its options on `app` and, if it is the one on
// the command line, stores what to run in `invocation`. Both arguments outlive the run.
#ifndef NFSWALK_NFSCLIENT_CLI_COMMANDS_H_
#define NFSWALK_NFSCLIENT_CLI_COMMANDS_H_

#include <CLI/CLI.hpp>
#include <functional>
#include <string>

#include "nfsclient/cli/options.h"
#include "nfsclient/cli/session.h"

namespace nfswalk::cli {

struct Invocation {
  std::string command;
  CommonOptions common;
  // One of the two: over the mounted export, or without a mount.
  std::function<void(Session&)> run;
  std::function<ExitCode(Console&)> examine;
};

void AddStatCommand(CLI::App& app, Invocation& invocation);
void AddLsCommand(CLI::App& app, Invocation& invocation);
void AddReadlinkCommand(CLI::App& app, Invocation& invocation);
void AddAccessCommand(CLI::App& app, Invocation& invocation);
void AddCatCommand(CLI::App& app, Invocation& invocation);
void AddFindCommand(CLI::App& app, Invocation& invocation);
void AddDuCommand(CLI::App& app, Invocation& invocation);
void AddCpCommand(CLI::App& app, Invocation& invocation);
void AddDoctorCommand(CLI::App& app, Invocation& invocation);

}  // namespace nfswalk::cli

#endif  // NFSWALK_NFSCLIENT_CLI_COMMANDS_H_
