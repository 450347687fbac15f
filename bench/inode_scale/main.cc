// inode_scale: see options.cc for what it does, or run it with --help.
#include <algorithm>
#include <atomic>
#include <cstdio>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <variant>
#include <vector>

#include "bench/console.h"
#include "bench/inode_scale/bundle_model.h"
#include "bench/inode_scale/export_driver.h"
#include "bench/inode_scale/hold_times.h"
#include "bench/inode_scale/options.h"
#include "bench/inode_scale/scale_report.h"
#include "bench/inode_scale/summary.h"
#include "bench/stop_on_signals.h"
#include "fmt/format.h"

namespace nfswalk::bench {
namespace {

constexpr int kFailed = 1;
constexpr size_t kProcessors[] = {1, 2, 4, 8, 16, 32, 64};

size_t ProcessorsHere() { return std::max(1u, std::thread::hardware_concurrency()); }

// What bulkstat over each bundle would do on more processors, from times of one thread.
std::vector<SimulatedCurve> Simulate(const Plan& plan, const std::vector<ScaleRow>& rows) {
  std::vector<SimulatedCurve> curves;
  const HoldTimes times = MeasureHoldTimes(plan.files_per_thread, plan.chain_load);
  for (const ScaleRow& row : rows) {
    if (row.workload != WorkloadName(Workload::kBulkstat) || row.threads != 1) continue;
    const double inode_ns = row.seconds * 1e9 / static_cast<double>(plan.files_per_thread);
    const auto policy = icache::ParseInodePolicy(BundleOf(row));
    auto curve = SimulateCurve(
        BundleOf(row), BulkstatModel(*policy, times, inode_ns, plan.files_per_thread), kProcessors);
    if (!curve) {
      fmt::print(stderr, "inode_scale: no simulation of {}: {}\n", BundleOf(row), curve.error());
      continue;
    }
    curves.push_back(std::move(*curve));
  }
  return curves;
}

std::string Heading(const Plan& plan, const ReplayServer* server) {
  if (server != nullptr) {
    return fmt::format(
        "On {}, through the client: these times contain the server.\n{} files a "
        "thread, {} repetitions\n",
        server->description(), plan.files_per_thread, plan.repetitions);
  }
  return fmt::format("Fill {} ns{}, {} files a thread, {} repetitions, {} inodes a chain\n",
                     plan.work.fill_ns, plan.work.under_one_lock ? " under one lock" : "",
                     plan.files_per_thread, plan.repetitions, plan.chain_load);
}

// False, and explained, if it cannot be run.
bool RunOne(const Plan& plan, ReplayServer* server, const std::atomic<bool>& stop,
            std::vector<ScaleRow>& all_rows) {
  Summary summary(plan.work.fill_ns, ProcessorsHere());
  const size_t total =
      plan.repetitions * plan.threads.size() * plan.policies.size() * plan.workloads.size();
  const auto progress = [&](const Timing& timing) {
    summary.Add(timing);
    if (summary.timings() % 16 == 0 || summary.timings() == total) {
      fmt::print(stderr, "\r{} of {} ", summary.timings(), total);
    }
  };
  const auto ran = server != nullptr ? RunPlanOnExport(plan, *server, progress, stop)
                                     : RunPlan(plan, progress, stop);
  fmt::print(stderr, "\n");
  if (!ran) {
    fmt::print(stderr, "inode_scale: {}\n", ran.error());
    return false;
  }
  const std::vector<ScaleRow> rows = summary.Rows();
  all_rows.insert(all_rows.end(), rows.begin(), rows.end());
  fmt::print("\n{}\n", Heading(plan, server));
  const bool simulate = server == nullptr && plan.work.fill_ns == 0 && !stop;
  fmt::print("{}",
             ScaleReport(rows, simulate ? Simulate(plan, rows) : std::vector<SimulatedCurve>{},
                         ProcessorsHere()));
  // Threads that wait for a server have processor time to spare.
  if (server == nullptr && summary.disturbed() > 0) {
    fmt::print(
        "WARNING: in {} of {} timings the threads got less than {:.0f} % of the processors: other "
        "work\nruns on this machine, and the figures of several threads are worth less.\n",
        summary.disturbed(), summary.timings(), Summary::kCpuShareMin * 100);
  }
  return true;
}

// Null, and explained, if it cannot be used.
std::unique_ptr<ReplayServer> OpenServer(const std::string& url) {
  auto server = url.empty() ? ReplayServer::StartOwn() : ReplayServer::Use(url);
  if (server) return std::move(*server);
  fmt::print(stderr, "inode_scale: {}\n", server.error());
  return nullptr;
}

int Run(const ScaleOptions& options, const std::atomic<bool>& stop) {
  std::unique_ptr<ReplayServer> server;
  if (options.server) {
    server = OpenServer(*options.server);
    if (server == nullptr) return kFailed;
  }
  std::vector<ScaleRow> rows;
  for (const Plan& plan : options.plans) {
    if (stop) break;
    if (!RunOne(plan, server.get(), stop, rows)) return kFailed;
  }
  const int exit_code = stop ? kExitInterrupted : 0;
  for (const auto& [file, text] : {std::pair(options.json_file, ScaleJson(rows)),
                                   std::pair(options.letters_file, LettersJson())}) {
    if (file.empty()) continue;
    const std::string error = WriteTextFile(file, text);
    if (error.empty()) continue;
    fmt::print(stderr, "inode_scale: {}\n", error);
    return kFailed;
  }
  return exit_code;
}

}  // namespace
}  // namespace nfswalk::bench

int main(int argc, char** argv) {
  const auto options = nfswalk::bench::ParseScaleOptions(argc, argv);
  if (const int* exit_code = std::get_if<int>(&options)) return *exit_code;
  return nfswalk::bench::Run(std::get<nfswalk::bench::ScaleOptions>(options),
                             nfswalk::bench::StopOnSignals());
}
