// export_turns: the workloads on a real export, through the client, where every file that is not
// cached costs a round trip to a server.
#ifndef NFSWALK_BENCH_INODE_SCALE_EXPORT_TURNS_H_
#define NFSWALK_BENCH_INODE_SCALE_EXPORT_TURNS_H_

#include "bench/inode_scale/plan.h"
#include "bench/measure/server_export.h"

namespace nfswalk::bench {

// Each call works in a new directory of the export, which it removes in the end. The fill time does
// not apply. `plan` and `server` outlive the result, whose error says what failed. Ends early after
// an interrupt.
TakeTurns ExportTurns(const Plan& plan, ServerExport& server);

}  // namespace nfswalk::bench

#endif  // NFSWALK_BENCH_INODE_SCALE_EXPORT_TURNS_H_
