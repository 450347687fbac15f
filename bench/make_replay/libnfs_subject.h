// libnfs_subject: the same calls as libnfs' own synchronous ones: what an NFS client in user space costs
// without a cache of names.
#ifndef NFSWALK_BENCH_MAKE_REPLAY_LIBNFS_SUBJECT_H_
#define NFSWALK_BENCH_MAKE_REPLAY_LIBNFS_SUBJECT_H_

#include <memory>
#include <string>

#include "bench/make_replay/subject.h"

namespace nfswalk::bench {

// `url` as libnfs reads it. One worker only, on one thread; it must be in the server's network namespace
// when it is made.
std::unique_ptr<Subject> MakeLibnfsSubject(std::string url);

}  // namespace nfswalk::bench

#endif  // NFSWALK_BENCH_MAKE_REPLAY_LIBNFS_SUBJECT_H_
