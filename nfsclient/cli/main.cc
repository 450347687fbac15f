// nfswalk: the command. Errors: exit_code.h.
#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <ctime>
#include <system_error>
#include <variant>

#include "nfsclient/cli/command_line.h"
#include "nfsclient/cli/commands/commands.h"
#include "nfsclient/cli/console.h"
#include "nfsclient/cli/exit_code.h"
#include "nfsclient/cli/progress_thread.h"
#include "nfsclient/cli/session.h"
#include "nfsclient/cli/show/error_text.h"
#include "nfsclient/cli/show/escape.h"
#include "nfsclient/client.h"

namespace nfswalk::cli {
namespace {

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

ExitCode RunMounted(Console& console, const Invocation& invocation) {
  const auto& [command, common, options] = invocation;
  auto client = Client::Mount(common.mount);
  if (!client) {
    console.Complain(
        fmt::format("mount '{}': {}", Escape(common.url), Escape(client.error().message)));
    return kExitServerFailed;
  }
  Session session(**client, console, command, common);
  const auto run = [&]<typename Options>(const Options& own) {
    if constexpr (requires { RunCommand(session, common.paths, own); }) {
      RunCommand(session, common.paths, own);
    }
  };
  std::visit(run, options);
  return session.exit_code();
}

ExitCode Run(const Invocation& invocation) {
  Console console(Console::ProcessStreams(), invocation.command);
  if (const auto* const mount = std::get_if<MountCommandOptions>(&invocation.options)) {
    return RunMount(console, invocation.common, *mount);
  }
  const ProgressThread progress(console);
  const auto* const stats = std::get_if<MountStatsOptions>(&invocation.options);
  const ExitCode code = stats != nullptr ? RunMountStats(console, invocation.common, *stats)
                        : std::holds_alternative<DoctorOptions>(invocation.options)
                            ? RunDoctor(console, invocation.common)
                            : RunMounted(console, invocation);
  return std::max(code, ReportOutput(console));
}

int Main(int argc, char** argv) {
  // A reader or a server that goes away is an error of one write, not the end of the process; so is
  // a file that becomes too large.
  std::signal(SIGPIPE, SIG_IGN);
  std::signal(SIGXFSZ, SIG_IGN);
  tzset();
  const auto invocation = ParseCommandLine(argc, argv);
  if (invocation) return Run(*invocation);
  const auto& [code, text] = invocation.error();
  std::fputs(text.c_str(), code == kExitOk ? stdout : stderr);
  return code;
}

}  // namespace
}  // namespace nfswalk::cli

int main(int argc, char** argv) { return nfswalk::cli::Main(argc, argv); }
