#include "bench/team.h"

#include <pthread.h>
#include <sched.h>
#include <time.h>

#include <algorithm>
#include <barrier>
#include <chrono>
#include <thread>
#include <vector>

namespace nfswalk::bench {

namespace {

using Clock = std::chrono::steady_clock;

size_t Processors() { return std::max(1u, std::thread::hardware_concurrency()); }

void PinTo(size_t processor) {
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(processor % Processors(), &set);
  pthread_setaffinity_np(pthread_self(), sizeof set, &set);
}

double ThreadCpuSeconds() {
  timespec now;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

}  // namespace

TeamTime RunTeam(size_t threads, const std::function<void(size_t)>& work,
                 const std::function<void(size_t)>& prepare) {
  std::vector<double> cpu_seconds(threads);
  std::vector<Clock::time_point> started(threads), ended(threads);
  std::barrier start(static_cast<std::ptrdiff_t>(threads));
  {
    std::vector<std::jthread> team;
    for (size_t t = 0; t < threads; ++t) {
      team.emplace_back([&, t] {
        PinTo(t);
        prepare(t);
        start.arrive_and_wait();
        const double cpu_before = ThreadCpuSeconds();
        started[t] = Clock::now();
        work(t);
        ended[t] = Clock::now();
        cpu_seconds[t] = ThreadCpuSeconds() - cpu_before;
      });
    }
  }
  const std::chrono::duration<double> took =
      *std::ranges::max_element(ended) - *std::ranges::min_element(started);
  double cpu = 0;
  for (const double seconds : cpu_seconds) cpu += seconds;
  const double most = took.count() * static_cast<double>(std::min(threads, Processors()));
  return {.seconds = took.count(), .cpu_share = most > 0 ? cpu / most : 0};
}

}  // namespace nfswalk::bench
