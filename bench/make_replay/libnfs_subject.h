// libnfs_subject: the same calls as libnfs' own synchronous ones: what an NFS client in user space
// costs that keeps no names.
#ifndef NFSWALK_BENCH_MAKE_REPLAY_LIBNFS_SUBJECT_H_
#define NFSWALK_BENCH_MAKE_REPLAY_LIBNFS_SUBJECT_H_

#include <memory>
#include <string>

#include "bench/make_replay/replay_server.h"
#include "bench/make_replay/subject.h"

namespace nfswalk::bench {

// `url` as libnfs reads it. One thread at a time. `server` must outlive the subject.
std::unique_ptr<Subject> MakeLibnfsSubject(std::string url, ReplayServer& server);

}  // namespace nfswalk::bench

#endif  // NFSWALK_BENCH_MAKE_REPLAY_LIBNFS_SUBJECT_H_
