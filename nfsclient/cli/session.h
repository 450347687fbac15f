// session: one run of a command over a mounted export: the options of all commands, credential,
// output, failures and exit code.
//
// Thread safety: any thread, but for exit_code(): when no other call is in progress.
#ifndef NFSWALK_NFSCLIENT_CLI_SESSION_H_
#define NFSWALK_NFSCLIENT_CLI_SESSION_H_

#include <cstdint>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include "nfsclient/cli/console.h"
#include "nfsclient/cli/exit_code.h"
#include "nfsclient/cli/show/format.h"
#include "nfsclient/client.h"

namespace nfswalk::cli {

using Paths = std::vector<std::string>;

// Options of all commands.
struct CommonOptions {
  MountOptions mount;
  std::string url;  // the source of `mount`
  Paths paths;      // of the export; for `cp` see CpOptions
  bool json = false;
  std::optional<uint32_t> uid;
  std::optional<uint32_t> gid;
  std::optional<std::vector<uint32_t>> groups;
};

// The credential of the calls: this process's, unless uid, gid or groups is given. Then uid defaults
// to the process's effective one, gid to that of the account that `uid` names, 65534 where it names
// none, groups to none. Not thread safe: getpwuid(3).
Credential CredentialOf(const CommonOptions& options);

class Session {
 public:
  // Borrows all three. `command`: as in "nfswalk: stat 'x': ...".
  Session(Client& client, Console& console, std::string_view command, const CommonOptions& options);

  Client& client() { return client_; }
  Console& console() { return console_; }
  const Credential& credential() const { return credential_; }
  bool json() const { return json_; }

  void Print(const JsonObject& object) { console_.Print(JsonLine(object)); }

  // A sentence on standard error; with --json also an object {"path", "error"} on standard output,
  // so that every path on the command line has an object. The run continues; its exit code is a
  // failure.
  void Fail(std::string_view path, std::errc error);

  // Reports the change of a path: Fail() unless `error` is errc{}; else, with --json, its object.
  void Report(std::string_view path, std::errc error);

  // Fail() for an error of the file that `path` is copied to; the object also has a key "to".
  void FailLocally(std::string_view path, std::string_view local_path, std::errc error);

  // Reports that the copy `to` of `path`, which is there, is without `what`; the object also has a
  // key "not_kept".
  void FailToKeep(std::string_view path, std::string_view to, std::string_view what,
                  std::errc error);

  // A second export could not be mounted.
  void FailMount(std::string_view url, std::string_view why);

  // True once the output failed (EPIPE): the command stops.
  bool done() const { return console_.output_error() != 0; }

  ExitCode exit_code() const { return exit_code_; }

 private:
  void RaiseExitCode(ExitCode code);

  Client& client_;
  Console& console_;
  const std::string command_;
  const Credential credential_;
  const bool json_;
  std::mutex mutex_;
  ExitCode exit_code_ = kExitOk;  // written with mutex_
};

}  // namespace nfswalk::cli

#endif  // NFSWALK_NFSCLIENT_CLI_SESSION_H_
