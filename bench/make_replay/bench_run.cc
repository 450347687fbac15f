#include "bench/make_replay/bench_run.h"

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <utility>

#include "bench/console.h"
#include "bench/make_replay/kernel_subject.h"
#include "bench/make_replay/killing_subject.h"
#include "bench/make_replay/libnfs_subject.h"
#include "bench/make_replay/nfswalk_subject.h"
#include "fmt/format.h"

namespace nfswalk::bench {
namespace {

constexpr uint64_t kMismatchesShown = 20;

// "git-null" of "bench/traces/git-null.strace.xz".
std::string TraceName(const std::string& file) {
  const std::string name = std::filesystem::path(file).filename().string();
  return name.substr(0, name.find('.'));
}

}  // namespace

ExitCode BenchRun::Run() {
  auto server =
      options_.server.empty() ? ReplayServer::StartOwn() : ReplayServer::Use(options_.server);
  if (!server) {
    fmt::print(stderr, "make_replay: {}\n", server.error());
    return ExitCode::kFailed;
  }
  server_ = std::move(*server);
  const Machine machine = DescribeMachine(server_->description());
  fmt::print("make_replay: {}, {} cores, Linux {}, {} build\nserver: {}\n", machine.cpu,
             machine.cores, machine.kernel, machine.build, machine.backend);
  for (const std::string& file : options_.traces) {
    const std::string error = RunTrace(file);
    ShowProgress("");
    if (stop_.load()) return ExitCode::kInterrupted;
    if (error.empty()) continue;
    fmt::print(stderr, "make_replay: {}\n", error);
    return ExitCode::kFailed;
  }
  fmt::print("{}\n{}", TableText(rows_, machine), RatiosText(rows_));
  fmt::print("compared {} answers: {} differ\n", compared_, mismatches_);
  if (!options_.json_file.empty()) {
    const std::string error = WriteJson(options_.json_file, rows_, machine);
    if (!error.empty()) fmt::print(stderr, "make_replay: {}\n", error);
    if (!error.empty()) return ExitCode::kFailed;
  }
  return mismatches_ == 0 ? ExitCode::kEqual : ExitCode::kDifferent;
}

std::string BenchRun::RunTrace(const std::string& file) {
  const std::string name = TraceName(file);
  ShowProgress(name + ": reading the trace");
  const auto trace = LoadTrace(file);
  if (!trace) return trace.error();
  const ReplayPlan plan(*trace, server_->special_files());
  ShowProgress("");
  fmt::print("\n{}\n{}", file, CoverageText(*trace, plan));
  std::fflush(stdout);
  if (plan.calls().empty()) return file + ": no call of this trace can be replayed";
  ShowProgress(name + ": making the tree");
  // Two traces of one name, or two runs against one server, must not meet.
  const std::string directory = fmt::format("make_replay-{}-{}-{}", getpid(), rows_.size(), name);
  std::string error = server_->Prepare(plan.tree(), directory);
  if (error.empty()) error = RunPrepared(plan, name, directory);
  ShowProgress(name + ": removing the tree");
  const std::string removal = server_->Remove(directory);
  return error.empty() ? removal : error;
}

std::string BenchRun::RunPrepared(const ReplayPlan& plan, const std::string& trace,
                                  const std::string& directory) {
  Subjects subjects;
  std::string error = MakeSubjects(plan, directory, subjects);
  if (error.empty()) error = RunCold(subjects, plan, trace);
  if (error.empty()) error = RunWarm(subjects, plan, trace);
  return error;
}

std::string BenchRun::MakeSubjects(const ReplayPlan& plan, const std::string& directory,
                                   Subjects& subjects) {
  for (const WalkMode mode : options_.modes) {
    auto client = server_->Mount(directory, mode);
    if (!client) return client.error();
    subjects.push_back(MakeNfswalkSubject(std::move(*client), WalkModeName(mode)));
    if (options_.kill_server_after == 0) continue;
    subjects.back() =
        MakeKillingSubject(std::move(subjects.back()), *server_, options_.kill_server_after);
  }
  if (options_.kernel) {
    auto kernel = MakeKernelSubject(plan.tree());
    if (kernel) {
      subjects.push_back(std::move(*kernel));
    } else {
      fmt::print("left out: kernel, tmpfs: {}\n", kernel.error());
    }
  }
  if (options_.libnfs)
    subjects.push_back(MakeLibnfsSubject(server_->LibnfsUrl(directory), *server_));
  return {};
}

std::string BenchRun::RunCold(Subjects& subjects, const ReplayPlan& plan,
                              const std::string& trace) {
  for (const auto& subject : subjects) {
    if (stop_.load()) return {};
    const bool one_pass = subject->one_pass_only();
    const size_t threads = one_pass ? 1 : std::ranges::max(options_.threads);
    ShowProgress(fmt::format("{}: {} {}, first pass", trace, subject->subject(), subject->mode()));
    const Stats before = subject->stats();
    auto turn = RunOnce(*subject, plan, threads, one_pass ? options_.libnfs_one_in : 1, stop_);
    if (!turn) return turn.error();
    Note(*turn);
    Row row{.trace = trace,
            .subject = std::string(subject->subject()),
            .mode = std::string(subject->mode()),
            .phase = Phase::kCold,
            .threads = threads};
    AddTurn(row, std::move(*turn), before, subject->stats());
    rows_.push_back(std::move(row));
  }
  return {};
}

std::string BenchRun::RunWarm(Subjects& subjects, const ReplayPlan& plan,
                              const std::string& trace) {
  // One row for each number of threads and subject, in this order.
  std::vector<Row> rows;
  for (size_t round = 0; round < options_.rounds; ++round) {
    size_t row = 0;
    for (const size_t threads : options_.threads) {
      for (const auto& subject : subjects) {
        if (subject->one_pass_only()) continue;
        if (stop_.load()) return {};
        if (round == 0) {
          rows.push_back({.trace = trace,
                          .subject = std::string(subject->subject()),
                          .mode = std::string(subject->mode()),
                          .threads = threads});
        }
        ShowProgress(fmt::format("{}: {} {}, {} threads, turn {} of {}", trace, subject->subject(),
                                 subject->mode(), threads, round + 1, options_.rounds));
        const Stats before = subject->stats();
        auto turn = RunFor(*subject, plan, threads,
                           options_.seconds / static_cast<double>(options_.rounds), stop_);
        if (!turn) return turn.error();
        Note(*turn);
        AddTurn(rows[row++], std::move(*turn), before, subject->stats());
      }
    }
  }
  std::ranges::move(rows, std::back_inserter(rows_));
  return {};
}

void BenchRun::Note(const PassResult& turn) {
  compared_ += turn.ops;
  if (turn.mismatches != 0) ShowProgress("");
  uint64_t shown = mismatches_;
  for (const Mismatch& mismatch : turn.first_mismatches) {
    if (shown++ >= kMismatchesShown) break;
    fmt::print(stderr, "make_replay: differs: {}\n", MismatchText(mismatch));
  }
  mismatches_ += turn.mismatches;
}

}  // namespace nfswalk::bench
