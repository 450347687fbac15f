// process_umask: umask(2) of this process, which new files of commands have as those of coreutils.
#ifndef NFSWALK_NFSCLIENT_CLI_COMMANDS_PROCESS_UMASK_H_
#define NFSWALK_NFSCLIENT_CLI_COMMANDS_PROCESS_UMASK_H_

#include <sys/stat.h>

#include <cstdint>

namespace nfswalk::cli {

// Not thread safe: there is no call that only reads it.
inline uint32_t ProcessUmask() {
  const mode_t mask = umask(0);
  umask(mask);
  return mask;
}

}  // namespace nfswalk::cli

#endif  // NFSWALK_NFSCLIENT_CLI_COMMANDS_PROCESS_UMASK_H_
