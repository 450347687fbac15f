// tree_command: command line options of the commands that walk trees.
#ifndef NFSWALK_NFSCLIENT_CLI_TREE_COMMAND_H_
#define NFSWALK_NFSCLIENT_CLI_TREE_COMMAND_H_

#include <CLI/CLI.hpp>

#include "nfsclient/cli/tree_walk.h"
#include "nfsclient/client.h"

namespace nfswalk::cli {

// Declares --threads. `options` lives until parsing is over.
void DeclareThreads(CLI::App& command, TreeOptions& options);

// Lowers cache limits that the URL does not set to 50,000 objects: a scan uses each entry once.
void LimitCaches(MountOptions& mount);

}  // namespace nfswalk::cli

#endif  // NFSWALK_NFSCLIENT_CLI_TREE_COMMAND_H_
