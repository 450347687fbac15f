// owner_name: the names of users and groups on this machine, for listings.
//
// A server of version 3 sends numbers, and of version 4 the client keeps only numbers, as a mount
// of the kernel does: what they are called is looked up here, as `ls -l` does (getpwuid(3)).
//
// Thread safety: one thread.
#ifndef NFSWALK_NFSCLIENT_CLI_SHOW_OWNER_NAME_H_
#define NFSWALK_NFSCLIENT_CLI_SHOW_OWNER_NAME_H_

#include <cstdint>
#include <string>

namespace nfswalk::cli {

// "" for an unknown number. Each number is looked up once.
const std::string& UserName(uint32_t uid);
const std::string& GroupName(uint32_t gid);

}  // namespace nfswalk::cli

#endif  // NFSWALK_NFSCLIENT_CLI_SHOW_OWNER_NAME_H_
