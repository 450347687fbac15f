#include "bench/make_replay/build_replay.h"

#include <linux/limits.h>

#include <array>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "bench/make_replay/build_schedule.h"
#include "bench/measure/team.h"
#include "bench/measure/terminal.h"
#include "fmt/format.h"

namespace nfswalk::bench {
namespace {

// Makes the calls of a build that fall to one thread.
class alignas(64) Builder {
 public:
  Outcome Start(Subject& subject) {
    auto thread = subject.StartThread();
    if (!thread) return std::unexpected(std::move(thread.error()));
    thread_ = std::move(*thread);
    return {};
  }

  // `next`: of each process, the first call that is not yet made.
  void Work(const BuildPlan& plan, BuildSchedule& schedule, std::vector<size_t>& next,
            size_t one_in) {
    while (const std::optional<size_t> process = schedule.TakeProcess()) {
      const std::vector<PlannedCall>& calls = plan.processes[*process];
      size_t& i = next[*process];
      for (; i < calls.size() && schedule.MayRun(calls[i]); schedule.Done(*process, ++i)) {
        if (Interrupted()) return schedule.Stop();
        if (IsChange(calls[i].kind) || i % one_in == 0) Make(calls[i]);
      }
      if (i == calls.size()) {
        schedule.Finish();
      } else {
        schedule.Park(*process, calls[i]);
      }
    }
  }

  PassResult& result() { return result_; }

 private:
  void Make(const BuildCall& call) {
    ++result_.turn.ops;
    const Answer answer =
        IsChange(call.kind) ? thread_->Change(call) : thread_->Ask(call, link_text_);
    if (Matches(call, answer, link_text_.data())) return;
    result_.Miss(Differs(call, answer));
  }

  std::string Differs(const BuildCall& call, const Answer& answer) const {
    std::string text = DifferenceOf(call, answer, link_text_.data());
    if (call.links != 0) text += fmt::format("; links {}, got {}", call.links, answer.links);
    if (call.kind == CallKind::kStat && call.modified) {
      text += fmt::format("; modified {}.{:09}, got {}.{:09}", call.modified->seconds,
                          call.modified->nanoseconds, answer.modified.seconds,
                          answer.modified.nanoseconds);
    }
    return text;
  }

  std::unique_ptr<SubjectThread> thread_;
  PassResult result_;
  std::array<char, PATH_MAX> link_text_{};
};

}  // namespace

std::expected<PassResult, std::string> ReplayBuild(Subject& subject, const BuildPlan& plan,
                                                   size_t threads, size_t one_in) {
  BuildSchedule schedule(plan);
  std::vector<Builder> builders(threads);
  std::vector<size_t> next(plan.processes.size());
  const auto time = RunTeam(
      threads, Placement::kAnywhere,
      [&](size_t thread) -> Outcome {
        builders[thread].Work(plan, schedule, next, one_in);
        return {};
      },
      [&](size_t thread) { return builders[thread].Start(subject); });
  if (!time) return std::unexpected(time.error());
  if (!Interrupted() && !schedule.all_finished()) {
    return std::unexpected(plan.trace + ": the plan's calls wait for one another");
  }
  PassResult total{.turn = {.seconds = time->seconds, .share = time->share}};
  for (Builder& builder : builders) total.Add(builder.result());
  return total;
}

}  // namespace nfswalk::bench
