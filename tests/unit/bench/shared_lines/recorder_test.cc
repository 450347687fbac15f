#include "bench/shared_lines/recorder.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <string>

#include "tests/unit/bench/shared_lines/recorded_words.h"

namespace nfswalk::bench {
namespace {

class RecorderTest : public testing::Test {
 protected:
  RecorderTest() {
    Recorder::Forget();
    Recorder::SetCounting(true);
  }

  // Runs `operation` as virtual thread `thread`; all of them are this thread.
  template <class Operation>
  static void As(uint32_t thread, Operation&& operation) {
    Recorder::Begin(thread);
    operation();
    Recorder::End();
  }
  static void ExpectAmongThreads(uint64_t writes, uint64_t reads) {
    EXPECT_EQ(Recorder::counts().among_threads.writes, writes);
    EXPECT_EQ(Recorder::counts().among_threads.reads, reads);
  }

  RecordedLine line_;
};

// Not in the fixture, which is on the stack, where accesses are ignored.
RecordedLine shared[2];
RecordedLine others[2];

TEST_F(RecorderTest, AccessToALineThatAnotherThreadWroteLastIsShared) {
  As(0, [] { StoreWord(shared[0], 1); });
  ExpectAmongThreads(0, 0);
  As(1, [] { StoreWord(shared[0], 2); });
  ExpectAmongThreads(1, 0);
  EXPECT_EQ(LoadWord(shared[0]), 2u);
  As(0, [] { LoadNeighbour(shared[0]); });  // another word of the line
  ExpectAmongThreads(1, 1);
}

TEST_F(RecorderTest, AccessesToAThreadsOwnLinesAreNotShared) {
  for (int i = 0; i < 3; ++i) {
    As(0, [] { StoreWord(shared[0], 1 + LoadWord(shared[0])); });
    As(1, [] { StoreWord(shared[1], 1 + LoadWord(shared[1])); });
  }
  ExpectAmongThreads(0, 0);
}

TEST_F(RecorderTest, ReadOfAnotherThreadsLineIsSharedOnceUntilItIsWrittenAgain) {
  As(0, [] { StoreWord(shared[0], 1); });
  As(1, [] { LoadWord(shared[0]), LoadWord(shared[0]); });
  ExpectAmongThreads(0, 1);
  As(2, [] { LoadWord(shared[0]); });
  ExpectAmongThreads(0, 2);
  As(0, [] { StoreWord(shared[0], 2); });
  As(1, [] { LoadWord(shared[0]); });
  ExpectAmongThreads(0, 3);
}

TEST_F(RecorderTest, AtomicReadModifyWriteIsPerformedAndIsAWrite) {
  As(0, [] { StoreWord(shared[0], 0); });
  As(1, [] { AddAtomically(shared[0]); });
  As(2, [] { CompareExchange(shared[0]); });
  ExpectAmongThreads(2, 0);
  EXPECT_EQ(LoadWord(shared[0]), 2u);
}

TEST_F(RecorderTest, CopiedBlockTouchesEachOfItsLines) {
  As(0, [] {
    StoreWord(shared[0], 1), StoreWord(shared[1], 1);
    StoreWord(others[0], 1), StoreWord(others[1], 1);
  });
  As(1, [] { CopyLines(shared, others); });
  ExpectAmongThreads(2, 2);
}

TEST_F(RecorderTest, AccessesToTheOwnStackAreIgnored) {
  for (uint32_t thread : {0u, 1u, 2u}) As(thread, [] { StoreOnStack(1); });
  As(0, [this] { StoreWord(line_, 1); });
  ExpectAmongThreads(0, 0);
}

TEST_F(RecorderTest, LinesWrittenByCallbacksAreCountedApart) {
  As(0, [] { StoreWord(shared[0], 1); });
  As(Recorder::kCallbacks, [] { StoreWord(shared[0], 2); });
  As(0, [] { LoadWord(shared[0]), StoreWord(shared[0], 3); });
  ExpectAmongThreads(0, 0);
  EXPECT_EQ(Recorder::counts().after_callbacks.writes, 1u);
  EXPECT_EQ(Recorder::counts().after_callbacks.reads, 1u);
}

TEST_F(RecorderTest, WritersAreNotedWhileNothingIsCounted) {
  As(0, [] { StoreWord(shared[0], 1); });
  Recorder::SetCounting(false);
  As(1, [] { StoreWord(shared[0], 2); });
  Recorder::SetCounting(true);
  ExpectAmongThreads(0, 0);
  As(1, [] { StoreWord(shared[0], 3); });
  ExpectAmongThreads(0, 0);
  As(0, [] { StoreWord(shared[0], 4); });
  ExpectAmongThreads(1, 0);
}

TEST_F(RecorderTest, NothingIsRecordedOutsideOfATurn) {
  As(0, [] { StoreWord(shared[0], 1); });
  StoreWord(shared[0], 2);
  As(0, [] { StoreWord(shared[0], 3); });
  ExpectAmongThreads(0, 0);
}

TEST_F(RecorderTest, PlacesAreReturnAddressesOfSharedAccesses) {
  for (uint32_t thread : {0u, 1u, 2u}) As(thread, [] { StoreWord(shared[0], 1); });
  As(3, [] { LoadWord(shared[0]); });
  const auto places = Recorder::Places();
  ASSERT_EQ(places.size(), 2u);
  EXPECT_EQ(places[0].accesses.writes, 2u);
  EXPECT_EQ(places[1].accesses.reads, 1u);
  const auto store = reinterpret_cast<uintptr_t>(&StoreWord);
  EXPECT_GT(places[0].code, store);
  EXPECT_LT(places[0].code, store + 256);
}

}  // namespace
}  // namespace nfswalk::bench
