#include "bench/inode_scale/plan.h"

#include "bench/measure/team.h"
#include "bench/measure/terminal.h"
#include "fmt/format.h"

namespace nfswalk::bench {
namespace {

class PlanRun {
 public:
  PlanRun(const Plan& plan, const TakeTurns& take_turns)
      : plan_(plan), take_turns_(take_turns), turns_(plan.repetitions) {
    for (const size_t threads : plan.threads) {
      for (const icache::InodePolicy& policy : plan.policies) {
        for (const Workload workload : plan.workloads) {
          turns_.AddRow();
          rows_.push_back({policy, workload, threads});
        }
      }
    }
  }

  Outcome Run() {
    while (turns_.BeginRound()) {
      for (size_t first = 0; first < rows_.size(); first += plan_.workloads.size()) {
        if (Interrupted()) return {};
        ShowProgress(fmt::format("fill {} ns, {} % hits, turn {}: {} threads, {}",
                                 plan_.work.fill_ns, plan_.hit_percent, turns_.round() + 1,
                                 rows_[first].threads, icache::PolicyLabel(rows_[first].policy)));
        if (auto taken = TakeGroup(first); !taken) return taken;
      }
    }
    return {};
  }

  void Write(RowWriter& writer) const {
    for (size_t number = 0; number < rows_.size(); ++number) {
      if (!turns_.Complete(number)) continue;
      const RowOfPlan& row = rows_[number];
      Row json;
      const auto per_visit = [&row](uint64_t count) {
        return static_cast<double>(count) / static_cast<double>(row.all_inodes);
      };
      json.Set("workload", WorkloadName(row.workload))
          .Set("keys", kKeysNames[static_cast<size_t>(plan_.work.keys)])
          .Set("policy", icache::PolicyLabel(row.policy))
          .Set("threads", row.threads)
          .Set("fill_ns", plan_.work.fill_ns)
          .Set("inodes", row.inodes)
          .Set("global_acq_per_inode", per_visit(row.all_acquisitions));
      if (row.workload == Workload::kPressure) {
        json.Set("hit_percent", plan_.hit_percent)
            .Set("hash_acq_per_inode", per_visit(row.all_hash_acquisitions));
        const auto hits = [](const Turn& turn) {
          return static_cast<double>(turn.hits) / static_cast<double>(turn.ops);
        };
        if (turns_.WhyDisturbed(number).empty()) json.Set("hits", turns_.Of(number, hits).median);
      }
      AddTiming(json, turns_, number, static_cast<double>(UsableProcessors(row.threads)));
      writer.Write(json);
    }
  }

 private:
  struct RowOfPlan {
    icache::InodePolicy policy;
    Workload workload;
    size_t threads;
    uint64_t inodes = 0;            // of one turn
    uint64_t all_inodes = 0;        // of all turns
    uint64_t all_acquisitions = 0;  // as all that follow
    uint64_t all_hash_acquisitions = 0;
  };

  // The rows of one policy and one number of threads, from row `first` on.
  Outcome TakeGroup(size_t first) {
    std::vector<Workload> wanted;
    for (size_t i = 0; i < plan_.workloads.size(); ++i) {
      if (turns_.Wants(first + i)) wanted.push_back(plan_.workloads[i]);
    }
    if (wanted.empty()) return {};
    size_t number = first;
    return take_turns_(rows_[first].policy, rows_[first].threads, wanted,
                       [&](const WorkloadTurn& taken) {
                         while (rows_[number].workload != taken.workload) ++number;
                         RowOfPlan& row = rows_[number];
                         turns_.Add(number++, taken.turn);
                         row.inodes = taken.turn.ops;
                         row.all_inodes += taken.turn.ops;
                         row.all_acquisitions += taken.global_acquisitions;
                         row.all_hash_acquisitions += taken.hash_acquisitions;
                       });
  }

  const Plan& plan_;
  const TakeTurns& take_turns_;
  Turns turns_;
  std::vector<RowOfPlan> rows_;
};

}  // namespace

Outcome RunPlan(const Plan& plan, const TakeTurns& take_turns, RowWriter& writer) {
  PlanRun run(plan, take_turns);
  if (auto ran = run.Run(); !ran) return ran;
  run.Write(writer);
  return {};
}

}  // namespace nfswalk::bench
