#include "nfsclient/c_api/callback_queue.h"

#include <gtest/gtest.h>
#include <poll.h>

#include <atomic>
#include <latch>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace nfswalk {
namespace {

// Counts what happened to one call.
struct Outcome {
  std::atomic<int> answered{0};
  std::atomic<int> canceled{0};
  std::atomic<int> delivered{0};
  std::thread::id answered_by;
};

class FakeCall : public QueuedCall {
 public:
  FakeCall(Outcome& outcome, bool at_once, std::latch* wait_for = nullptr,
           std::latch* begun = nullptr)
      : outcome_(outcome), at_once_(at_once), wait_for_(wait_for), begun_(begun) {}

  bool AnswerAtOnce() override {
    if (at_once_) Answered();
    return at_once_;
  }
  void Answer() override {
    if (begun_ != nullptr) begun_->count_down();
    if (wait_for_ != nullptr) wait_for_->wait();
    Answered();
  }
  void Cancel() override { ++outcome_.canceled; }
  void Deliver() override { ++outcome_.delivered; }

 private:
  void Answered() {
    outcome_.answered_by = std::this_thread::get_id();
    ++outcome_.answered;
  }

  Outcome& outcome_;
  const bool at_once_;
  std::latch* const wait_for_;
  std::latch* const begun_;
};

std::unique_ptr<CallbackQueue> MakeQueue(unsigned threads) {
  auto queue = CallbackQueue::Create(threads);
  EXPECT_TRUE(queue.has_value());
  return std::move(*queue);
}

bool Ready(const CallbackQueue& queue, int timeout_ms) {
  pollfd event{queue.fd(), POLLIN, 0};
  return poll(&event, 1, timeout_ms) == 1;
}

TEST(CallbackQueue, ACallThatNeedsNoWaitIsAnsweredBySubmitterAndDeliveredOnlyWhenDispatched) {
  Outcome outcome;
  auto queue = MakeQueue(1);
  ASSERT_EQ(queue->Submit(std::make_unique<FakeCall>(outcome, true)), std::errc{});
  EXPECT_EQ(outcome.answered_by, std::this_thread::get_id());
  EXPECT_EQ(outcome.delivered, 0);
  EXPECT_EQ(queue->Dispatch(0), 1u);
  EXPECT_EQ(outcome.delivered, 1);
}

TEST(CallbackQueue, BlockingCallsRunOnAThreadOfTheQueue) {
  Outcome outcome;
  auto queue = MakeQueue(1);
  ASSERT_EQ(queue->Submit(std::make_unique<FakeCall>(outcome, false)), std::errc{});
  EXPECT_TRUE(Ready(*queue, -1));
  EXPECT_EQ(queue->Dispatch(0), 1u);
  EXPECT_NE(outcome.answered_by, std::this_thread::get_id());
  EXPECT_EQ(outcome.delivered, 1);
}

TEST(CallbackQueue, TheDescriptorIsReadableExactlyWhileAnswersAreThere) {
  std::vector<Outcome> outcomes(5);
  auto queue = MakeQueue(1);
  EXPECT_FALSE(Ready(*queue, 0));
  for (Outcome& outcome : outcomes) {
    ASSERT_EQ(queue->Submit(std::make_unique<FakeCall>(outcome, true)), std::errc{});
  }
  EXPECT_EQ(queue->Dispatch(2), 2u);
  EXPECT_TRUE(Ready(*queue, 0));
  EXPECT_EQ(queue->Dispatch(3), 3u);
  EXPECT_FALSE(Ready(*queue, 0));
  EXPECT_EQ(queue->Dispatch(0), 0u);
  ASSERT_EQ(queue->Submit(std::make_unique<FakeCall>(outcomes[0], true)), std::errc{});
  EXPECT_TRUE(Ready(*queue, 0));
}

TEST(CallbackQueue, NoMoreCallsAreBegunThanThereAreThreads) {
  std::latch let_go(1), two_begun(2), three_more(3);
  std::vector<Outcome> outcomes(5);
  auto queue = MakeQueue(2);
  for (size_t i = 0; i < 5; ++i) {
    auto* const begun = i < 2 ? &two_begun : &three_more;
    ASSERT_EQ(queue->Submit(std::make_unique<FakeCall>(outcomes[i], false, &let_go, begun)),
              std::errc{});
  }
  two_begun.wait();
  EXPECT_FALSE(three_more.try_wait());
  let_go.count_down();
  three_more.wait();
}

TEST(CallbackQueue, DestructionCancelsWhatHasNotBegunWaitsForTheRestAndDeliversAllOnce) {
  std::latch let_go(1), begun(1);
  Outcome in_progress, waiting, known;
  std::thread liberator;
  {
    auto queue = MakeQueue(1);
    ASSERT_EQ(queue->Submit(std::make_unique<FakeCall>(in_progress, false, &let_go, &begun)),
              std::errc{});
    begun.wait();
    ASSERT_EQ(queue->Submit(std::make_unique<FakeCall>(waiting, false)), std::errc{});
    ASSERT_EQ(queue->Submit(std::make_unique<FakeCall>(known, true)), std::errc{});
    // The destructor cancels before it waits for this one.
    liberator = std::thread([&] {
      while (waiting.canceled == 0) std::this_thread::yield();
      let_go.count_down();
    });
  }
  liberator.join();
  EXPECT_EQ(in_progress.answered, 1);
  EXPECT_EQ(waiting.answered, 0);
  EXPECT_EQ(waiting.canceled, 1);
  for (const Outcome* outcome : {&in_progress, &waiting, &known}) EXPECT_EQ(outcome->delivered, 1);
}

// A submission by a callback during the destruction is refused, and its callback never runs.
TEST(CallbackQueue, NothingCanBeSubmittedToAQueueThatGoes) {
  class AsksAgain : public QueuedCall {
   public:
    AsksAgain(std::unique_ptr<CallbackQueue>& queue, std::errc& error, Outcome& outcome)
        : queue_(*queue), error_(error), outcome_(outcome) {}
    bool AnswerAtOnce() override { return true; }
    void Answer() override {}
    void Cancel() override {}
    void Deliver() override { error_ = queue_.Submit(std::make_unique<FakeCall>(outcome_, true)); }

   private:
    CallbackQueue& queue_;
    std::errc& error_;
    Outcome& outcome_;
  };
  auto queue = MakeQueue(1);
  std::errc error{};
  Outcome outcome;
  ASSERT_EQ(queue->Submit(std::make_unique<AsksAgain>(queue, error, outcome)), std::errc{});
  queue.reset();
  EXPECT_EQ(error, std::errc::operation_canceled);
  EXPECT_EQ(outcome.delivered + outcome.answered + outcome.canceled, 0);
}

TEST(CallbackQueue, EveryCallIsDeliveredOnceHoweverManyThreadsSubmitAndDispatch) {
  constexpr size_t kThreads = 4, kCalls = 2000;
  std::vector<Outcome> outcomes(kThreads * kCalls);
  std::atomic<size_t> dispatched{0};
  {
    auto queue = MakeQueue(3);
    std::vector<std::thread> threads;
    for (size_t t = 0; t < kThreads; ++t) {
      threads.emplace_back([&, t] {
        for (size_t i = 0; i < kCalls; ++i) {
          EXPECT_EQ(queue->Submit(std::make_unique<FakeCall>(outcomes[t * kCalls + i], i % 2 == 0)),
                    std::errc{});
          dispatched += queue->Dispatch(i % 3);
        }
      });
    }
    for (std::thread& thread : threads) thread.join();
  }
  for (const Outcome& outcome : outcomes) ASSERT_EQ(outcome.delivered, 1);
  EXPECT_GT(dispatched, kCalls);
}

}  // namespace
}  // namespace nfswalk
