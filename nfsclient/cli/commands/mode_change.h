// mode_change: the MODE of chmod(1) and of mkdir -m: octal, or clauses such as "u+x,go-w".
//
// Thread safety: as any value.
#ifndef NFSWALK_NFSCLIENT_CLI_COMMANDS_MODE_CHANGE_H_
#define NFSWALK_NFSCLIENT_CLI_COMMANDS_MODE_CHANGE_H_

#include <cstdint>
#include <expected>
#include <string>
#include <string_view>
#include <vector>

namespace nfswalk::cli {

class ModeChange {
 public:
  // The error: a sentence that names the text and what is accepted.
  static std::expected<ModeChange, std::string> Parse(std::string_view text);

  // Permission bits after the change. `umask`: for clauses without u, g, o and a. A directory keeps
  // the set-ID bits that are not named (coreutils(1), "Directories and the Set-User-ID and
  // Set-Group-ID Bits").
  uint32_t Apply(uint32_t mode, bool is_directory, uint32_t umask) const;

 private:
  // One operator with its permissions; '=' of all bits for an octal mode.
  struct Step {
    uint32_t who;  // bits of the classes concerned; 0: all that the umask leaves
    char operation;
    uint32_t bits;               // of all classes
    bool if_executable = false;  // X
  };
  std::vector<Step> steps_;
};

}  // namespace nfswalk::cli

#endif  // NFSWALK_NFSCLIENT_CLI_COMMANDS_MODE_CHANGE_H_
