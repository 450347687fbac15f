// human_size: numbers of bytes as `ls -h` and `du -h` write them.
//
// Thread safety: pure functions.
#ifndef NFSWALK_NFSCLIENT_CLI_SHOW_HUMAN_SIZE_H_
#define NFSWALK_NFSCLIENT_CLI_SHOW_HUMAN_SIZE_H_

#include <cstdint>
#include <string>

namespace nfswalk::cli {

// "512", "1.5K", "12M": powers of 1024, always rounded up.
std::string HumanSize(uint64_t bytes);

// Rounded up, as all block counts here.
constexpr uint64_t Kibibytes(uint64_t bytes) { return bytes / 1024 + (bytes % 1024 != 0); }

}  // namespace nfswalk::cli

#endif  // NFSWALK_NFSCLIENT_CLI_SHOW_HUMAN_SIZE_H_
