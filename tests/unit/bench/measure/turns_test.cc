#include "bench/measure/turns.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <latch>
#include <set>
#include <string>
#include <vector>

#include "bench/measure/machine_share.h"
#include "bench/measure/team.h"
#include "bench/measure/terminal.h"

namespace nfswalk::bench {
namespace {

using testing::HasSubstr;
using testing::Not;

TEST(MachineShare, IdleWaitingAndInterruptTimeIsUnused) {
  // user nice system idle iowait irq softirq steal
  EXPECT_EQ(UnusedSecondsIn("cpu  100 20 30 400 50 6 4 70 0 0\ncpu0 1 1 1 1 1 1 1 1\n", 100), 4.6);
  EXPECT_FALSE(UnusedSecondsIn("cpu0 1 1 1 1 1 1 1\n", 100));
  EXPECT_FALSE(UnusedSecondsIn("cpu 1 1\n", 100));
  EXPECT_FALSE(UnusedSecondsIn("", 100));
}

TEST(MachineShare, TimeOfOthersAndStolenTimeIsMissingFromTheShare) {
  struct Case {
    double seconds, ours_s, unused_s, share;
  };
  for (const auto& [seconds, ours_s, unused_s, share] :
       {Case{1, 1.5, 0.5, 1},     // on two processors nothing is missing
        Case{1, 0, 2, 1},         // all slept
        Case{1, 1, 0.5, 0.755},   // half a second went elsewhere, less a tick
        Case{1, 1.995, 0, 1},     // less than a tick is
        Case{1, 2.5, 0.5, 1}}) {  // clocks disagree
    EXPECT_DOUBLE_EQ(ShareOfMachine(seconds, 2, ours_s, unused_s, 0.01), share);
  }
}

double ThreadCpuSeconds() {
  timespec used;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used);
  return static_cast<double>(used.tv_sec) + static_cast<double>(used.tv_nsec) * 1e-9;
}

void Burn(double cpu_seconds) {
  const double end = ThreadCpuSeconds() + cpu_seconds;
  while (ThreadCpuSeconds() < end) {
  }
}

TEST(MachineShare, ServersTimeIsOursAndThatOfOthersIsMissing) {
  int ends[2];
  ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
  char byte = 0;
  const pid_t child = fork();
  if (child == 0) {
    (void)!read(ends[1], &byte, 1);
    Burn(0.2);
    (void)!write(ends[1], &byte, 1);
    for (;;) pause();
  }
  const auto start = std::chrono::steady_clock::now();
  const MachineShare server(child), other(0);
  EXPECT_EQ(write(ends[0], &byte, 1), 1);
  EXPECT_EQ(read(ends[0], &byte, 1), 1);
  const double as_server = server.Share(), as_other = other.Share();
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
  // The clocks of /proc/stat tick, hence half of the child's time.
  EXPECT_GT(as_server - as_other, 0.1 / (took.count() * static_cast<double>(Processors())));
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
  close(ends[0]), close(ends[1]);
}

TEST(Team, AllThreadsWorkAtTheSameTimeOnceAllArePrepared) {
  constexpr size_t kThreads = 4;
  std::latch all(kThreads);
  std::atomic<size_t> prepared = 0;
  std::vector<size_t> prepared_before(kThreads);
  const auto time = RunTeam(
      kThreads, Placement::kAnywhere,
      [&](size_t thread) {
        prepared_before[thread] = prepared;
        all.arrive_and_wait();  // ends only if all are there
        return Outcome();
      },
      [&](size_t) {
        ++prepared;
        return Outcome();
      });
  ASSERT_TRUE(time) << time.error();
  EXPECT_EQ(prepared_before, std::vector<size_t>(kThreads, kThreads));
}

TEST(Team, ErrorOfOneThreadIsTheOutcomeAndNoneWorksAfterAPreparationFailed) {
  const auto fail = [](size_t thread) -> Outcome {
    if (thread == 1) return std::unexpected("lost");
    return {};
  };
  EXPECT_EQ(RunTeam(3, Placement::kPinned, fail).error(), "lost");
  std::atomic<int> worked = 0;
  const auto work = [&](size_t) {
    ++worked;
    return Outcome();
  };
  EXPECT_EQ(RunTeam(3, Placement::kPinned, work, fail).error(), "lost");
  EXPECT_EQ(worked, 0);
}

TEST(Team, PinnedThreadsStayOnAProcessorEach) {
  std::vector<int> allowed(Processors());
  ASSERT_TRUE(RunTeam(Processors(), Placement::kPinned, [&](size_t thread) -> Outcome {
    cpu_set_t set;
    sched_getaffinity(0, sizeof set, &set);
    allowed[thread] = CPU_COUNT(&set) == 1 ? sched_getcpu() : -1;
    return {};
  }));
  EXPECT_EQ(std::set<int>(allowed.begin(), allowed.end()).size(), allowed.size());
  EXPECT_EQ(std::count(allowed.begin(), allowed.end(), -1), 0);
}

TEST(Team, ShareIsTheProcessorTimeAndNotTheWait) {
  std::latch worked(1);
  const auto time = RunTeam(2, Placement::kAnywhere, [&](size_t thread) {
    if (thread == 0) Burn(0.03);
    if (thread == 0) worked.count_down();
    worked.wait();
    return Outcome();
  });
  ASSERT_TRUE(time) << time.error();
  EXPECT_GE(time->seconds, 0.03);
  const double used = time->share * time->seconds * static_cast<double>(UsableProcessors(2));
  EXPECT_GE(used, 0.03);
  EXPECT_LT(used, 0.05);
}

TEST(Team, PreparationHasNoPartInTheProcessorTime) {
  const auto time = RunTeam(
      1, Placement::kAnywhere, [](size_t) { return Outcome(); },
      [](size_t) {
        Burn(0.03);
        return Outcome();
      });
  ASSERT_TRUE(time) << time.error();
  EXPECT_LE(time->share * time->seconds, 0.02);
}

constexpr Turn Undisturbed(double seconds = 1) { return {.ops = 1, .seconds = seconds}; }
constexpr Turn kDisturbed{.ops = 1, .seconds = 100, .share = 0.946};

// Lets every row take its turns, `turn(row, round)`; returns who took one in each round.
template <class TakeTurn>
std::vector<std::string> TakeAll(Turns& turns, size_t rows, TakeTurn&& turn) {
  std::vector<std::string> rounds;
  while (turns.BeginRound()) {
    std::string& round = rounds.emplace_back();
    for (size_t row = 0; row < rows; ++row) {
      if (!turns.Wants(row)) continue;
      round += static_cast<char>('a' + row);
      turns.Add(row, turn(row, turns.round()));
    }
  }
  return rounds;
}

TEST(Turns, EveryRowTakesOneTurnARound) {
  Turns turns(3);
  turns.AddRow(), turns.AddRow(), turns.AddRow();
  EXPECT_EQ(TakeAll(turns, 3, [](size_t, size_t) { return Undisturbed(); }),
            (std::vector<std::string>{"abc", "abc", "abc"}));
}

TEST(Turns, DisturbedTurnIsTakenAgainAndNeverCounted) {
  Turns turns(2);
  turns.AddRow(), turns.AddRow();
  const auto rounds = TakeAll(turns, 2, [](size_t row, size_t round) {
    return row == 1 && round == 0 ? kDisturbed : Undisturbed();
  });
  EXPECT_EQ(rounds, (std::vector<std::string>{"ab", "ab", "b"}));
  EXPECT_EQ(turns.counted(1).size(), 2u);
  EXPECT_EQ(turns.disturbed(1), 1u);
  Row row;
  AddTiming(row, turns, 1, 1);
  EXPECT_EQ(row.text(),
            R"({"ns_per_op": 1e+09, "ns_min": 1e+09, "ns_max": 1e+09, "turns": 2, "repeated": 1, )"
            R"("share": 1})");
}

TEST(Turns, RowIsGivenUpAfterTwiceItsRepetitionsAndHasNoTimes) {
  Turns turns(3);
  turns.AddRow();
  const auto rounds = TakeAll(
      turns, 1, [](size_t, size_t round) { return round == 4 ? Undisturbed() : kDisturbed; });
  EXPECT_EQ(rounds.size(), 6u);
  EXPECT_TRUE(turns.Complete(0));
  Row row;
  AddTiming(row, turns, 0, 1);
  EXPECT_THAT(row.text(), HasSubstr(R"({"disturbed": "other work on the machine: only 1 of 6)"));
  EXPECT_THAT(row.text(), HasSubstr("the best of the others 94 %"));  // rounded down
  EXPECT_THAT(row.text(), Not(HasSubstr("ns_")));
}

TEST(Turns, HalfOfTheRepetitionsUndisturbedMakeARow) {
  Turns turns(4);
  turns.AddRow();
  TakeAll(turns, 1, [](size_t, size_t round) { return round < 2 ? Undisturbed() : kDisturbed; });
  EXPECT_EQ(turns.WhyDisturbed(0), "");
  EXPECT_EQ(turns.Of(0, [](const Turn& turn) { return turn.seconds; }).most, 1);
}

TEST(Turns, SpreadIsTheMedianTheLeastAndTheMost) {
  const Spread odd = SpreadOf({4, 1, 9});
  EXPECT_EQ(std::tuple(odd.median, odd.least, odd.most), std::tuple(4, 1, 9));
  EXPECT_EQ(SpreadOf({4, 1, 9, 2}).median, 3) << "the mean of the two in the middle";
}

TEST(Turns, TimeIsThatOfTheProcessorsInUseOverTheCalls) {
  Turns turns(3);
  turns.AddRow();
  for (const double seconds : {3e-6, 1e-6, 2e-6}) {
    turns.Add(0, {.ops = 1000, .seconds = seconds, .share = 0.96});
  }
  Row row;
  AddTiming(row, turns, 0, 2);
  EXPECT_EQ(row.text(), R"({"ns_per_op": 4, "ns_min": 2, "ns_max": 6, "turns": 3, "repeated": 0, )"
                        R"("share": 0.96})");
}

TEST(Turns, InterruptEndsTheRoundsAndLeavesIncompleteRows) {
  EXPECT_EXIT(
      {
        CatchInterrupts();
        Turns turns(2);
        turns.AddRow();
        const bool began = turns.BeginRound();
        turns.Add(0, Undisturbed());
        std::raise(SIGINT);
        std::exit(began && Interrupted() && !turns.BeginRound() && !turns.Complete(0) ? 0 : 1);
      },
      testing::ExitedWithCode(0), "");
}

TEST(Interrupt, SecondSignalEndsTheProcess) {
  EXPECT_EXIT(
      {
        CatchInterrupts();
        std::raise(SIGTERM);
        std::raise(SIGTERM);
      },
      testing::KilledBySignal(SIGTERM), "");
}

}  // namespace
}  // namespace nfswalk::bench
