// prepare_nfs: makes the tree of a trace through NFS, on any server, and takes it away again.
#ifndef NFSWALK_BENCH_MAKE_REPLAY_PREPARE_NFS_H_
#define NFSWALK_BENCH_MAKE_REPLAY_PREPARE_NFS_H_

#include <string>

#include "bench/make_replay/tree.h"
#include "nfsclient/client.h"

namespace nfswalk::bench {

// Makes the directory `name` in the root of the export and the tree beneath it: types, modes, sizes
// (sparse where the server can) and link texts, special files left out. As uid 0: the export must
// not squash it. Empty, or the error, after which what was made so far stays.
std::string PrepareThroughNfs(const Tree& tree, Client& client, const std::string& name);

// Removes the directory `name` and all beneath it. Empty, or the error.
std::string RemoveThroughNfs(Client& client, const std::string& name);

}  // namespace nfswalk::bench

#endif  // NFSWALK_BENCH_MAKE_REPLAY_PREPARE_NFS_H_
