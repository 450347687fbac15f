// nfswalk_subject: a mounted export in one walk mode, asked through the public API.
#ifndef NFSWALK_BENCH_MAKE_REPLAY_NFSWALK_SUBJECT_H_
#define NFSWALK_BENCH_MAKE_REPLAY_NFSWALK_SUBJECT_H_

#include <memory>
#include <vector>

#include "bench/make_replay/subject.h"
#include "nfsclient/client.h"

namespace nfswalk::bench {

// Each thread asks its calls as one of `identities` after the other. Preconditions: not empty.
std::unique_ptr<Subject> MakeNfswalkSubject(std::unique_ptr<Client> client, WalkMode mode,
                                            std::vector<Credential> identities = {{0, 0}});

}  // namespace nfswalk::bench

#endif  // NFSWALK_BENCH_MAKE_REPLAY_NFSWALK_SUBJECT_H_
