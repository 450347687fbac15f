// nfswalk: look at an NFS export without mounting it. Errors: exit_code.h.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cerrno>
#include <csignal>
#include <ctime>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "nfsclient/cli/commands.h"
#include "nfsclient/cli/console.h"
#include "nfsclient/cli/error_text.h"
#include "nfsclient/cli/escape.h"
#include "nfsclient/cli/exit_code.h"
#include "nfsclient/cli/find_spelling.h"
#include "nfsclient/cli/progress_thread.h"
#include "nfsclient/cli/session.h"
#include "nfsclient/cli/verbatim.h"
#include "nfsclient/client.h"

namespace nfswalk::cli {
namespace {

constexpr const char* kCommandNames = "stat, ls, readlink, access, cat, find, du, cp and doctor";

constexpr const char* kFooter =
    "Each command takes the URL of an export, then paths inside it:\n"
    "  nfswalk stat nfs://server/export usr/include/stdio.h\n"
    "  nfswalk COMMAND --help          options and examples of one command\n"
    "\n"
    "URL options are named as in nfs(5): nfs://server/export?port=2049&soft&timeo=50&actimeo=60\n"
    "\n"
    "Exit codes:\n"
    "  0  all went well\n"
    "  1  some path could not be served, or standard output could not be written\n"
    "  2  the command line is wrong\n"
    "  3  the export could not be mounted, or the server stopped answering\n";

void Declare(CLI::App& app, Invocation& invocation) {
  app.require_subcommand(1);
  app.footer(kFooter);
  app.failure_message([](const CLI::App* failed, const CLI::Error& error) {
    const auto used = failed->get_subcommands();
    const auto rest = failed->remaining();
    if (used.empty() && !rest.empty()) {
      return fmt::format("nfswalk: '{}' is no command: accepted are {}\n", Escape(rest.front()),
                         kCommandNames);
    }
    return fmt::format("nfswalk: {}\nTry 'nfswalk{}{} --help'.\n", Escape(error.what()),
                       used.empty() ? "" : " ", used.empty() ? "" : used.front()->get_name());
  });
  AddStatCommand(app, invocation);
  AddLsCommand(app, invocation);
  AddReadlinkCommand(app, invocation);
  AddAccessCommand(app, invocation);
  AddCatCommand(app, invocation);
  AddFindCommand(app, invocation);
  AddDuCommand(app, invocation);
  AddCpCommand(app, invocation);
  AddDoctorCommand(app, invocation);
}

// A reader that left early, as `head` does, is no reason for a message.
ExitCode ReportOutput(Console& console) {
  console.Finish();
  const int error = console.output_error();
  if (error == 0) return kExitOk;
  if (error != EPIPE) {
    console.Complain(fmt::format("cannot write standard output: {} (the output is incomplete)",
                                 ErrorMessage(static_cast<std::errc>(error))));
  }
  return kExitPathFailed;
}

ExitCode Run(const Invocation& invocation) {
  Console console(Console::ProcessStreams(), invocation.command);
  const ProgressThread progress(console);
  if (invocation.examine) {
    const ExitCode code = invocation.examine(console);
    return std::max(code, ReportOutput(console));
  }
  auto client = Client::Mount(invocation.common.mount);
  if (!client) {
    console.Complain(fmt::format("mount '{}': {}", Escape(invocation.common.url),
                                 Escape(client.error().message)));
    return kExitServerFailed;
  }
  Session session(**client, console, invocation.command, invocation.common);
  invocation.run(session);
  return std::max(session.exit_code(), ReportOutput(console));
}

int Main(int argc, char** argv) {
  // A reader or a server that goes away is an error of one write, not the end of the process.
  std::signal(SIGPIPE, SIG_IGN);
  tzset();
  CLI::App app("Looks at an NFS export without mounting it.", "nfswalk");
  Invocation invocation;
  Declare(app, invocation);
  std::vector<std::string> arguments = ProtectArguments(argc, argv);
  AcceptFindSpelling(arguments);
  try {
    app.parse(std::move(arguments));
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? kExitOk : kExitUsage;
  }
  invocation.command = app.get_subcommands().front()->get_name();
  return Run(invocation);
}

}  // namespace
}  // namespace nfswalk::cli

int main(int argc, char** argv) { return nfswalk::cli::Main(argc, argv); }
