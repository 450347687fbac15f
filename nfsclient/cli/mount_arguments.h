// mount_arguments: the command lines of `nfswalk mount`, which mount(8) calls, too, and of `nfswalk
// stats`.
//
// Thread safety: one thread.
#ifndef NFSWALK_NFSCLIENT_CLI_MOUNT_ARGUMENTS_H_
#define NFSWALK_NFSCLIENT_CLI_MOUNT_ARGUMENTS_H_

#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace nfswalk::cli {

struct Invocation;

// Each adds its command to `app`; once that is parsed, `invocation` is it. Both outlive the
// parsing.
void AddMount(CLI::App& app, Invocation& invocation);
void AddMountStats(CLI::App& app, Invocation& invocation);

// `nfswalk URL DIRECTORY -o OPTIONS`, as mount.fuse3(8) has it: adds the command, and nosuid and
// nodev to the options. `arguments`: the last one first.
void AcceptMountSpelling(std::vector<std::string>& arguments);

}  // namespace nfswalk::cli

#endif  // NFSWALK_NFSCLIENT_CLI_MOUNT_ARGUMENTS_H_
