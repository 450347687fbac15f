// nfswalk_subject: a mounted export, asked through the public API.
#ifndef NFSWALK_BENCH_MAKE_REPLAY_NFSWALK_SUBJECT_H_
#define NFSWALK_BENCH_MAKE_REPLAY_NFSWALK_SUBJECT_H_

#include <memory>
#include <string_view>
#include <vector>

#include "bench/make_replay/subject.h"
#include "nfsclient/client.h"

namespace nfswalk::bench {

// Each thread asks its calls as one of `identities` after the other. Preconditions: not empty;
// `mode` outlives the subject.
std::unique_ptr<Subject> MakeNfswalkSubject(std::unique_ptr<Client> client, std::string_view mode,
                                            std::vector<Credential> identities = {{0, 0}});

}  // namespace nfswalk::bench

#endif  // NFSWALK_BENCH_MAKE_REPLAY_NFSWALK_SUBJECT_H_
