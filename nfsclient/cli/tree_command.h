// tree_command: what commands that walk whole trees have in common on the command line.
#ifndef NFSWALK_NFSCLIENT_CLI_TREE_COMMAND_H_
#define NFSWALK_NFSCLIENT_CLI_TREE_COMMAND_H_

#include <CLI/CLI.hpp>

#include "nfsclient/cli/tree_walk.h"
#include "nfsclient/client.h"

namespace nfswalk::cli {

// Declares --threads. `options` lives until parsing is over.
void DeclareThreads(CLI::App& command, TreeOptions& options);

// Whoever looks at everything once needs no room for all of it: limits of the caches that the URL
// left as they are become those of a scan, 50,000 objects.
void LimitCaches(MountOptions& mount);

}  // namespace nfswalk::cli

#endif  // NFSWALK_NFSCLIENT_CLI_TREE_COMMAND_H_
