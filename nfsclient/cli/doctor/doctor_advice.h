// doctor_advice: what keeps a mount slow, or leads it astray, and what to do about it.
//
// Thread safety: pure functions.
#ifndef NFSWALK_NFSCLIENT_CLI_DOCTOR_DOCTOR_ADVICE_H_
#define NFSWALK_NFSCLIENT_CLI_DOCTOR_DOCTOR_ADVICE_H_

#include <string>
#include <vector>

#include "nfsclient/cli/doctor/server_examination.h"
#include "nfsclient/client.h"

namespace nfswalk::cli {

struct Advice {
  std::string name;     // stable, for programs: "short_lifetimes"
  std::string message;  // what it costs, and the way out
};

// Names what makes lookups leave RCU-walk: options of the mount, and what the server does.
std::vector<Advice> AdviseOnLookups(const MountOptions& options, const ServerExamination& found);

// Advice on the credential, as the server sees it.
std::vector<Advice> AdviseOnCredential(const Credential& credential,
                                       const ServerExamination& found);

}  // namespace nfswalk::cli

#endif  // NFSWALK_NFSCLIENT_CLI_DOCTOR_DOCTOR_ADVICE_H_
