#include "bench/measure/turns.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>
#include <cstdlib>
#include <string>
#include <vector>

#include "bench/measure/interrupt.h"

namespace nfswalk::bench {
namespace {

using testing::HasSubstr;
using testing::Not;

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

TEST(Turns, MedianOfAnEvenNumberIsTheMeanOfTheTwoInTheMiddle) {
  EXPECT_EQ(SpreadOf({4, 1, 9, 2}).median, 3);
  EXPECT_EQ(SpreadOf({4, 1, 9}).median, 4);
  EXPECT_EQ(SpreadOf({4, 1, 9}).least, 1);
  EXPECT_EQ(SpreadOf({4, 1, 9}).most, 9);
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
