#include "bench/warm_stat/warm_turn.h"

#include <array>
#include <chrono>
#include <memory>
#include <thread>
#include <utility>
#include <vector>

#include "bench/team.h"
#include "fmt/format.h"

namespace nfswalk::bench {
namespace {

using Clock = std::chrono::steady_clock;

// Calls between two looks at the clock.
constexpr size_t kCallsABatch = 64;
constexpr size_t kLinkTextBytes = 64;  // no course reads a link
// Of the time of a turn, before its clock starts: a thread that has just begun has everything still
// to learn, and its processor's caches hold what the others asked for.
constexpr double kWarmUp = 0.25;

bool AsExpected(const ReplayCall& call, const Answer& answer) {
  return answer.error == call.error && (call.error != 0 || answer.mode == call.mode);
}

std::string Unexpected(const Subject& subject, const ReplayCall& call) {
  return fmt::format("{} {}: the answer to stat {} is not the tree's", subject.subject(),
                     subject.mode(), call.path);
}

// What one thread does in a turn. A line of its own: its neighbours are other processors'.
struct alignas(64) Share {
  std::unique_ptr<SubjectThread> hands;
  size_t at = 0;  // in the calls
  std::string error;
  uint64_t ops = 0;

  void Run(const Subject& subject, std::span<const ReplayCall> calls, double seconds) {
    ops = 0;
    size_t next = at;
    const auto deadline = Clock::now() + std::chrono::duration<double>(seconds);
    std::array<char, kLinkTextBytes> link_text;
    do {
      for (size_t i = 0; i < kCallsABatch; ++i) {
        const ReplayCall& call = calls[next];
        if (!AsExpected(call, hands->Ask(call, link_text))) error = Unexpected(subject, call);
        if (++next == calls.size()) next = 0;
      }
      ops += kCallsABatch;
    } while (error.empty() && Clock::now() < deadline);
    at = next;
  }
};

}  // namespace

std::string AskEachOnce(Subject& subject, std::span<const ReplayCall> calls, size_t rounds,
                        const std::atomic<bool>& stop) {
  std::string error;
  // A subject may keep the thread that asks it (kernel_subject.h).
  std::jthread([&] {
    auto hands = subject.StartThread();
    if (!hands) {
      error = std::move(hands.error());
      return;
    }
    std::array<char, kLinkTextBytes> link_text;
    for (size_t round = 0; round < rounds; ++round) {
      for (const ReplayCall& call : calls) {
        if (stop.load() || !error.empty()) return;
        if (!AsExpected(call, (*hands)->Ask(call, link_text))) error = Unexpected(subject, call);
      }
      // Whoever takes turns with `rounds` identities asks each call as another one next time.
      if (rounds > 1) (*hands)->Ask(calls.front(), link_text);
    }
  }).join();
  return error;
}

std::expected<WarmTurn, std::string> TakeTurn(Subject& subject, std::span<const ReplayCall> calls,
                                              size_t start, size_t threads, double seconds) {
  std::vector<Share> shares(threads);
  const TeamTime time = RunTeam(
      threads,
      [&](size_t t) {
        if (shares[t].error.empty()) shares[t].Run(subject, calls, seconds);
      },
      [&](size_t t) {
        auto hands = subject.StartThread();
        if (!hands) {
          shares[t].error = std::move(hands.error());
          return;
        }
        shares[t].hands = std::move(*hands);
        shares[t].at = (start + calls.size() * t / threads) % calls.size();
        shares[t].Run(subject, calls, kWarmUp * seconds);
      });
  WarmTurn turn{.seconds = time.seconds, .cpu_share = time.cpu_share};
  for (Share& share : shares) {
    if (!share.error.empty()) return std::unexpected(std::move(share.error));
    turn.ops += share.ops;
  }
  return turn;
}

}  // namespace nfswalk::bench
