// killing_subject: another subject, under which the server dies once, in the middle of the work.
#ifndef NFSWALK_BENCH_MAKE_REPLAY_KILLING_SUBJECT_H_
#define NFSWALK_BENCH_MAKE_REPLAY_KILLING_SUBJECT_H_

#include <cstdint>
#include <memory>

#include "bench/measure/server_export.h"
#include "bench/measure/subject.h"

namespace nfswalk::bench {

// Kills and restarts the server (SIGKILL) before call number `after` of all threads together.
// `server` must outlive the subject. A server that does not come back ends the process with an
// error: nothing could be compared any more.
std::unique_ptr<Subject> MakeKillingSubject(std::unique_ptr<Subject> subject, ServerExport& server,
                                            uint64_t after);

}  // namespace nfswalk::bench

#endif  // NFSWALK_BENCH_MAKE_REPLAY_KILLING_SUBJECT_H_
