// prepare_local: makes the tree of a trace in a directory of this machine: the backing directory of
// a server, or the tmpfs that stands for "the kernel itself".
#ifndef NFSWALK_BENCH_MAKE_REPLAY_PREPARE_LOCAL_H_
#define NFSWALK_BENCH_MAKE_REPLAY_PREPARE_LOCAL_H_

#include <string>

#include "bench/make_replay/tree.h"

namespace nfswalk::bench {

// Fills the empty directory `root_fd`, and gives it the root's mode. Types, modes (the umask does
// not matter), sizes (sparse) and link texts as in `tree`; special files only where
// `special_files`. Returns an empty string or the error, after which what was made so far stays.
std::string PrepareLocal(const Tree& tree, int root_fd, bool special_files);

}  // namespace nfswalk::bench

#endif  // NFSWALK_BENCH_MAKE_REPLAY_PREPARE_LOCAL_H_
