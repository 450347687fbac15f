#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "nfsclient/cli/commands/commands.h"
#include "nfsclient/cli/doctor/doctor_report.h"
#include "nfsclient/cli/doctor/server_examination.h"
#include "nfsclient/cli/show/escape.h"

namespace nfswalk::cli {
namespace {

std::string RefusalOf(const ServerExamination& found, const protocol::ServerAddress& server) {
  for (const OfferedVersion& offered : found.versions) {
    if (offered.IsOf(server)) return offered.refusal;
  }
  return {};
}

ExitCode Report(Console& console, const CommonOptions& options, const DoctorFindings& findings) {
  console.Print(options.json ? JsonLine(DoctorJson(findings)) : DoctorText(findings));
  if (findings.server.reached) return kExitOk;
  console.Complain(fmt::format("mount '{}': {}", Escape(options.url),
                               Escape(RefusalOf(findings.server, options.mount.server))));
  return kExitServerFailed;
}

}  // namespace

ExitCode RunDoctor(Console& console, const CommonOptions& options) {
  DoctorFindings findings{options.url, options.mount, CredentialOf(options), {}, {}, {}, {}, {}};
  ExaminedServer examined = ExamineServer(options.mount, findings.credential);
  findings.server = std::move(examined.found);
  findings.on_lookups = AdviseOnLookups(options.mount, findings.server);
  findings.on_credential = AdviseOnCredential(findings.credential, findings.server);
  if (!findings.server.reached) return Report(console, options, findings);
  auto client = Client::MountOver(std::move(examined.protocol), options.mount);
  if (!client) {
    console.Complain(
        fmt::format("mount '{}': {}", Escape(options.url), Escape(client.error().message)));
    return kExitServerFailed;
  }
  Session session(**client, console, "doctor", options);
  std::vector<std::pair<std::string, WarmLookups>> failed;
  for (const std::string& path : options.paths) {
    const WarmLookups lookups = ExamineLookups(**client, path, findings.credential);
    auto& found = lookups.error == std::errc{} ? findings.lookups : failed;
    found.emplace_back(path, lookups);
  }
  findings.caches = (*client)->stats();
  const ExitCode reported = Report(console, options, findings);
  for (const auto& [path, lookups] : failed) session.Fail(path, lookups.error);
  return std::max(reported, session.exit_code());
}

}  // namespace nfswalk::cli
