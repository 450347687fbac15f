#include "bench/cold_walk/work_crew.h"

#include <barrier>
#include <chrono>
#include <thread>
#include <utility>
#include <vector>

namespace nfswalk::bench {

std::expected<double, std::string> RunCrew(size_t threads,
                                           const std::function<std::string(size_t)>& work) {
  using Clock = std::chrono::steady_clock;
  Clock::time_point started;
  std::barrier start(static_cast<std::ptrdiff_t>(threads),
                     [&started]() noexcept { started = Clock::now(); });
  std::vector<std::string> errors(threads);
  {
    std::vector<std::jthread> crew;
    for (size_t t = 0; t < threads; ++t) {
      crew.emplace_back([&, t] {
        start.arrive_and_wait();
        errors[t] = work(t);
      });
    }
  }
  const std::chrono::duration<double> took = Clock::now() - started;
  for (std::string& error : errors) {
    if (!error.empty()) return std::unexpected(std::move(error));
  }
  return took.count();
}

}  // namespace nfswalk::bench
