// interleavings: threads ordered by the sync points of a debug build.
//
// Nothing here sleeps for a time. A wait for a thread ends when that thread ends, so that a test
// fails instead of hanging where this can be detected.
#ifndef NFSWALK_TESTS_RACE_INTERLEAVINGS_H_
#define NFSWALK_TESTS_RACE_INTERLEAVINGS_H_

#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <thread>
#include <utility>

#include "rcu/sync_point.h"

namespace nfswalk {

namespace internal {

// Incremented on each event that a test may wait for.
inline constinit std::atomic<uint32_t> events{0};

inline void Tell() {
  ++events;
  events.notify_all();
}

template <class Happened>
void Await(Happened&& happened) {
  for (uint32_t seen = events; !happened(); seen = events) events.wait(seen);
}

}  // namespace internal

// A thread of the test, joined by the destructor at the latest.
class Actor {
 public:
  explicit Actor(std::function<void()> act)
      : thread_([this, act = std::move(act)] {
          act();
          done_ = true;
          internal::Tell();
        }) {}
  ~Actor() { Join(); }
  Actor(const Actor&) = delete;
  Actor& operator=(const Actor&) = delete;

  void Join() {
    if (thread_.joinable()) thread_.join();
  }
  bool done() const { return done_; }

 private:
  std::atomic<bool> done_{false};
  std::thread thread_;
};

// Runs `act` to its end on another thread.
inline void Elsewhere(std::function<void()> act) { Actor(std::move(act)).Join(); }

// Blocks the first thread that reaches a sync point; later ones pass.
class StopAt {
 public:
  explicit StopAt(std::string_view point) {
    rcu::SyncPointScript::OnReach(point, [state = state_] {
      if (state->taken.exchange(true)) return;
      state->arrived = true;
      internal::Tell();
      internal::Await([&] { return state->let_go.load(); });
    });
  }
  ~StopAt() { LetGo(); }
  StopAt(const StopAt&) = delete;
  StopAt& operator=(const StopAt&) = delete;

  // Waits until the actor is blocked there; false if it ended without reaching the point.
  bool Reached(const Actor& actor) const {
    internal::Await([&] { return state_->arrived || actor.done(); });
    return state_->arrived;
  }
  void LetGo() {
    state_->let_go = true;
    internal::Tell();
  }

 private:
  struct State {
    std::atomic<bool> taken{false}, arrived{false}, let_go{false};
  };
  const std::shared_ptr<State> state_ = std::make_shared<State>();
};

// Counts passes of a sync point.
class CountAt {
 public:
  explicit CountAt(std::string_view point) {
    rcu::SyncPointScript::OnReach(point, [count = count_] {
      ++*count;
      internal::Tell();
    });
  }
  int count() const { return *count_; }
  // Waits for the n-th pass.
  void Await(int n) const {
    internal::Await([&] { return *count_ >= n; });
  }

 private:
  const std::shared_ptr<std::atomic<int>> count_ = std::make_shared<std::atomic<int>>(0);
};

// Aborts if a thread reaches `point`, where it would wait for itself.
inline void AbortAt(std::string_view point) {
  rcu::SyncPointScript::OnReach(point, [point = std::string(point)] {
    std::fprintf(stderr, "a thread reached %s\n", point.c_str());
    std::abort();
  });
}

// Runs `act` on the first thread that reaches the sync point, with the locks it holds there.
inline void OnceAt(std::string_view point, std::function<void()> act) {
  auto taken = std::make_shared<std::atomic<bool>>(false);
  rcu::SyncPointScript::OnReach(point, [taken, act = std::move(act)] {
    if (!taken->exchange(true)) act();
  });
}

}  // namespace nfswalk

#endif  // NFSWALK_TESTS_RACE_INTERLEAVINGS_H_
