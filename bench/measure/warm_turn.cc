#include "bench/measure/warm_turn.h"

#include <sys/stat.h>

#include <array>
#include <chrono>
#include <memory>
#include <thread>
#include <utility>

#include "bench/measure/machine_share.h"
#include "bench/measure/team.h"
#include "bench/measure/terminal.h"
#include "fmt/format.h"

namespace nfswalk::bench {
namespace {

using Clock = std::chrono::steady_clock;

// Calls between two reads of the clock.
constexpr size_t kCallsABatch = 64;
// Warm-up before the clock of a turn starts, as a part of the turn's time: a new thread has empty
// caches of its own, and its processor's caches hold what the others asked for.
constexpr double kWarmUp = 0.25;

bool Expected(const Call& call, const Answer& answer) { return Matches(call, answer, ""); }

std::unexpected<std::string> Unexpected(const Subject& subject, const Call& call) {
  return std::unexpected(
      fmt::format("{}: the answer for {} is not the tree's", subject.title(), call.path));
}

// Makes the calls of one thread in a turn. Has a cache line of its own, since its neighbours in the
// vector belong to other processors.
struct alignas(64) Share {
  std::unique_ptr<SubjectThread> thread;
  size_t at = 0;  // in the calls
  uint64_t ops = 0;

  Outcome Run(const Subject& subject, std::span<const Call> calls, double seconds) {
    ops = 0;
    size_t next = at;
    const Call* failed = nullptr;
    const auto deadline = Clock::now() + std::chrono::duration<double>(seconds);
    do {
      for (size_t i = 0; i < kCallsABatch; ++i) {
        const Call& call = calls[next];
        if (!Expected(call, thread->Ask(call, {}))) failed = &call;
        if (++next == calls.size()) next = 0;
      }
      ops += kCallsABatch;
    } while (failed == nullptr && Clock::now() < deadline);
    at = next;
    if (failed != nullptr) return Unexpected(subject, *failed);
    return {};
  }
};

}  // namespace

WarmCalls::WarmCalls(const std::vector<std::string>& paths, int16_t error, CallKind kind) {
  for (const std::string& path : paths) texts_.append(path).push_back('\0');
  calls_.reserve(paths.size());
  size_t begin = 0;
  for (const std::string& path : paths) {
    calls_.push_back({.path = std::string_view(texts_).substr(begin, path.size()),
                      .mode = S_IFREG | 0644,
                      .error = error,
                      .kind = kind,
                      .access_mode = kMayRead});
    begin += path.size() + 1;
  }
}

Outcome AskEachOnce(Subject& subject, std::span<const Call> calls, size_t identities) {
  Outcome outcome;
  // A subject may change the thread that asks it for good.
  std::jthread([&] {
    auto thread = subject.StartThread();
    if (!thread) {
      outcome = std::unexpected(std::move(thread.error()));
      return;
    }
    for (size_t round = 0; round < identities; ++round) {
      for (const Call& call : calls) {
        if (Interrupted()) return;
        if (Expected(call, (*thread)->Ask(call, {}))) continue;
        outcome = Unexpected(subject, call);
        return;
      }
      // A subject with several identities asks each call as another one in the next round.
      if (identities > 1) (*thread)->Ask(calls.front(), {});
    }
  }).join();
  return outcome;
}

std::expected<Turn, std::string> TakeWarmTurn(Subject& subject, std::span<const Call> calls,
                                              size_t start, size_t threads, double seconds) {
  std::vector<Share> shares(threads);
  const MachineShare machine(subject.server_pid());
  const auto time = RunTeam(
      threads, Placement::kPinned, [&](size_t t) { return shares[t].Run(subject, calls, seconds); },
      [&](size_t t) -> Outcome {
        auto thread = subject.StartThread();
        if (!thread) return std::unexpected(std::move(thread.error()));
        shares[t].thread = std::move(*thread);
        shares[t].at = (start + calls.size() * t / threads) % calls.size();
        return shares[t].Run(subject, calls, kWarmUp * seconds);
      });
  if (!time) return std::unexpected(time.error());
  Turn turn{.seconds = time->seconds, .share = subject.caches() ? time->share : machine.Share()};
  for (const Share& share : shares) turn.ops += share.ops;
  return turn;
}

}  // namespace nfswalk::bench
