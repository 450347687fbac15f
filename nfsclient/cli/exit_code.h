// exit_code: how a run of nfswalk ends, for scripts. The help texts list the same four.
#ifndef NFSWALK_NFSCLIENT_CLI_EXIT_CODE_H_
#define NFSWALK_NFSCLIENT_CLI_EXIT_CODE_H_

namespace nfswalk::cli {

// In rising order of gravity: a run ends with the gravest thing that happened.
enum ExitCode {
  kExitOk = 0,
  kExitPathFailed = 1,  // some path could not be served, or standard output could not be written
  kExitUsage = 2,
  kExitServerFailed = 3,  // not mounted, or the server stopped answering
};

}  // namespace nfswalk::cli

#endif  // NFSWALK_NFSCLIENT_CLI_EXIT_CODE_H_
