// nfswalk_subject: a mounted export, asked through the public API as root.
#ifndef NFSWALK_BENCH_MAKE_REPLAY_NFSWALK_SUBJECT_H_
#define NFSWALK_BENCH_MAKE_REPLAY_NFSWALK_SUBJECT_H_

#include <expected>
#include <memory>
#include <string>

#include "bench/make_replay/subject.h"
#include "nfsclient/client.h"

namespace nfswalk::bench {

// Opens count as a stat and an access check: nfswalk's open asks the server, as close-to-open demands.
std::unique_ptr<Subject> MakeNfswalkSubject(std::unique_ptr<Client> client, WalkMode mode);

}  // namespace nfswalk::bench

#endif  // NFSWALK_BENCH_MAKE_REPLAY_NFSWALK_SUBJECT_H_
