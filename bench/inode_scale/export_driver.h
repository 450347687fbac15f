// export_driver: the same workloads on a real export, through the client: what a policy is worth
// where every cold file costs a round trip to a server.
#ifndef NFSWALK_BENCH_INODE_SCALE_EXPORT_DRIVER_H_
#define NFSWALK_BENCH_INODE_SCALE_EXPORT_DRIVER_H_

#include <atomic>
#include <expected>
#include <functional>
#include <string>

#include "bench/inode_scale/driver.h"
#include "bench/make_replay/replay_server.h"

namespace nfswalk::bench {

// As RunPlan(), each bundle of policies a mount of its own. Works in a new directory of the export
// and removes it in the end, whatever happened. The fill time does not apply. The error says what
// failed.
std::expected<void, std::string> RunPlanOnExport(const Plan& plan, ReplayServer& server,
                                                 const std::function<void(const Timing&)>& report,
                                                 const std::atomic<bool>& stop);

}  // namespace nfswalk::bench

#endif  // NFSWALK_BENCH_INODE_SCALE_EXPORT_DRIVER_H_
