// server_examination: what a server offers to a mount, found out by asking it.
//
// Bounded: each server is given a few seconds to answer, whatever the mount's options say.
// Thread safety: one thread.
#ifndef NFSWALK_NFSCLIENT_CLI_DOCTOR_SERVER_EXAMINATION_H_
#define NFSWALK_NFSCLIENT_CLI_DOCTOR_SERVER_EXAMINATION_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "nfsclient/api/connect.h"
#include "nfsclient/client.h"
#include "nfsclient/protocol/protocol.h"

namespace nfswalk::cli {

struct OfferedVersion {
  int version = 0;
  uint32_t minor_version = 0;
  std::string refusal;  // "": offered

  bool IsOf(const protocol::ServerAddress& server) const {
    return version == server.version && (version == 3 || minor_version == server.minor_version);
  }
};

struct Durations {
  size_t calls = 0;
  uint64_t min_ns = 0;
  uint64_t median_ns = 0;
  uint64_t max_ns = 0;
};
// Summarizes any number of measurements, in any order.
Durations Summarize(std::vector<uint64_t> durations_ns);

struct ServerExamination {
  std::vector<OfferedVersion> versions;
  // The members below are known if the server can be mounted.
  bool reached = false;
  protocol::ServerLimits limits;
  Attributes root;
  uint32_t root_granted = 0;  // bits of access_rights.h
  Durations round_trip;       // of GETATTR calls
  // Whether listings carry attributes and handles of their entries; unknown in an empty root.
  std::optional<bool> listings_with_attributes;
  // Version 4: how many names of a path were resolved in one COMPOUND, at most kNamesTried. Unknown
  // without a directory in the root.
  static constexpr size_t kNamesTried = 256;
  std::optional<size_t> names_per_compound;
  // Version 4.1 and later: whether the server has bound a connection to call over within a second;
  // whether it has delegated a file, which is unknown unless one of the root could be opened, and
  // the root itself; both are unknown if the server says that its calls do not arrive.
  std::optional<bool> has_back_channel;
  std::optional<bool> delegates_files;
  std::optional<bool> delegates_directories;
};

struct ExaminedServer {
  ServerExamination found;
  Connected connection = {};  // that was examined, by the version that a mount uses; if `reached`
  std::string refusal = {};   // of a mount; else
};

ExaminedServer ExamineServer(const MountOptions& options, const Credential& credential);

// How a path that was looked up once is answered from then on.
struct WarmLookups {
  std::errc error{};  // of the first lookup; then nothing else is known
  Durations duration;
  uint64_t in_rcu_mode = 0;                    // of duration.calls
  std::array<uint64_t, kNeedRefCount> left{};  // how often RCU-walk was left, for each NeedRef
};

// No other call is made on `client` meanwhile.
WarmLookups ExamineLookups(Client& client, const std::string& path, const Credential& credential);

}  // namespace nfswalk::cli

#endif  // NFSWALK_NFSCLIENT_CLI_DOCTOR_SERVER_EXAMINATION_H_
