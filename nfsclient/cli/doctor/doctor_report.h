// doctor_report: what `nfswalk doctor` found, for people and for programs.
//
// Thread safety: pure functions.
#ifndef NFSWALK_NFSCLIENT_CLI_DOCTOR_DOCTOR_REPORT_H_
#define NFSWALK_NFSCLIENT_CLI_DOCTOR_DOCTOR_REPORT_H_

#include <string>
#include <utility>
#include <vector>

#include "nfsclient/cli/doctor/doctor_advice.h"
#include "nfsclient/cli/doctor/server_examination.h"
#include "nfsclient/cli/show/format.h"
#include "nfsclient/client.h"

namespace nfswalk::cli {

struct DoctorFindings {
  std::string url;
  MountOptions options;
  Credential credential;
  ServerExamination server;
  Stats caches;  // after the lookups; if the server was reached
  std::vector<std::pair<std::string, WarmLookups>> lookups;  // by path; without those that failed
  std::vector<Advice> on_lookups;
  std::vector<Advice> on_credential;
};

// Lines for a terminal or a file: names are escaped.
std::string DoctorText(const DoctorFindings& findings);
JsonObject DoctorJson(const DoctorFindings& findings);

}  // namespace nfswalk::cli

#endif  // NFSWALK_NFSCLIENT_CLI_DOCTOR_DOCTOR_REPORT_H_
