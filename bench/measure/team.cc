#include "bench/measure/team.h"

#include <pthread.h>
#include <sched.h>
#include <time.h>

#include <algorithm>
#include <atomic>
#include <barrier>
#include <chrono>
#include <thread>
#include <utility>
#include <vector>

namespace nfswalk::bench {
namespace {

using Clock = std::chrono::steady_clock;

void PinTo(size_t processor) {
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(processor, &set);
  pthread_setaffinity_np(pthread_self(), sizeof set, &set);
}

double ThreadCpuSeconds() {
  timespec used;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used);
  return static_cast<double>(used.tv_sec) + static_cast<double>(used.tv_nsec) * 1e-9;
}

struct Member {
  Clock::time_point started, ended;
  double cpu_seconds = 0;
  Outcome outcome;
};

}  // namespace

size_t Processors() { return std::max(1u, std::thread::hardware_concurrency()); }

size_t UsableProcessors(size_t threads) { return std::min(threads, Processors()); }

std::expected<TeamTime, std::string> RunTeam(size_t threads, Placement placement,
                                             const ThreadWork& work, const ThreadWork& prepare) {
  std::vector<Member> members(threads);
  std::atomic<bool> prepared = true;
  std::barrier start(static_cast<std::ptrdiff_t>(threads));
  {
    std::vector<std::jthread> team;
    for (size_t t = 0; t < threads; ++t) {
      team.emplace_back([&, t] {
        if (placement == Placement::kPinned) PinTo(t % Processors());
        Member& me = members[t];
        me.outcome = prepare(t);
        if (!me.outcome) prepared.store(false);
        start.arrive_and_wait();
        if (!prepared.load()) return;
        const double cpu_before = ThreadCpuSeconds();
        me.started = Clock::now();
        me.outcome = work(t);
        me.ended = Clock::now();
        me.cpu_seconds = ThreadCpuSeconds() - cpu_before;
      });
    }
  }
  double cpu_seconds = 0;
  for (Member& member : members) {
    if (!member.outcome) return std::unexpected(std::move(member.outcome.error()));
    cpu_seconds += member.cpu_seconds;
  }
  const std::chrono::duration<double> took =
      std::ranges::max(members, {}, &Member::ended).ended -
      std::ranges::min(members, {}, &Member::started).started;
  const double usable = took.count() * static_cast<double>(UsableProcessors(threads));
  return TeamTime{.seconds = took.count(), .share = usable > 0 ? cpu_seconds / usable : 0};
}

}  // namespace nfswalk::bench
