// nfswalk_subject: a mounted export in one walk mode, asked through the public API as uid 0.
#ifndef NFSWALK_BENCH_MAKE_REPLAY_NFSWALK_SUBJECT_H_
#define NFSWALK_BENCH_MAKE_REPLAY_NFSWALK_SUBJECT_H_

#include <memory>

#include "bench/make_replay/subject.h"
#include "nfsclient/client.h"

namespace nfswalk::bench {

std::unique_ptr<Subject> MakeNfswalkSubject(std::unique_ptr<Client> client, WalkMode mode);

}  // namespace nfswalk::bench

#endif  // NFSWALK_BENCH_MAKE_REPLAY_NFSWALK_SUBJECT_H_
