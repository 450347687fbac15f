#include <fmt/format.h>

#include <string>
#include <utility>
#include <vector>

#include "nfsclient/cli/commands/commands.h"
#include "nfsclient/cli/doctor/doctor_report.h"
#include "nfsclient/cli/doctor/server_examination.h"
#include "nfsclient/cli/show/escape.h"

namespace nfswalk::cli {
namespace {

void Print(Console& console, const CommonOptions& options, const DoctorFindings& findings) {
  console.Print(options.json ? JsonLine(DoctorJson(findings)) : DoctorText(findings));
}

}  // namespace

ExitCode RunDoctor(Console& console, const CommonOptions& options) {
  DoctorFindings findings{options.url, options.mount, CredentialOf(options), {}, {}, {}, {}, {}};
  const auto refused = [&](const std::string& message) {
    console.Complain(fmt::format("mount '{}': {}", Escape(options.url), Escape(message)));
    return kExitServerFailed;
  };
  ExaminedServer examined = ExamineServer(options.mount, findings.credential);
  findings.server = std::move(examined.found);
  if (findings.server.reached) findings.options.server = std::move(examined.connection.server);
  findings.on_lookups = AdviseOnLookups(findings.options, findings.server);
  findings.on_credential = AdviseOnCredential(findings.credential, findings.server);
  if (!findings.server.reached) {
    Print(console, options, findings);
    return refused(examined.refusal);
  }
  auto client = Client::MountOver(std::move(examined.connection.protocol), findings.options);
  if (!client) return refused(client.error().message);
  Session session(**client, console, "doctor", options);
  std::vector<std::pair<std::string, WarmLookups>> failed;
  for (const std::string& path : options.paths) {
    const WarmLookups lookups = ExamineLookups(**client, path, findings.credential);
    auto& found = lookups.error == std::errc{} ? findings.lookups : failed;
    found.emplace_back(path, lookups);
  }
  findings.caches = (*client)->stats();
  Print(console, options, findings);
  for (const auto& [path, lookups] : failed) session.Fail(path, lookups.error);
  return session.exit_code();
}

}  // namespace nfswalk::cli
