#include "bench/measure/progress.h"

#include <unistd.h>

#include <cstdio>

#include "bench/measure/interrupt.h"
#include "fmt/format.h"

namespace nfswalk::bench {
namespace {

constexpr int kExitFailed = 1;

}  // namespace

void ShowProgress(std::string_view text) {
  if (isatty(STDERR_FILENO) == 0) return;
  fmt::print(stderr, "\r\033[K{}", text);
  std::fflush(stderr);
}

void Warn(std::string_view bench, std::string_view text) {
  ShowProgress("");
  fmt::print(stderr, "{}: {}\n", bench, text);
}

int Finish(std::string_view bench, const Outcome& outcome) {
  ShowProgress("");
  if (!outcome) Warn(bench, outcome.error());
  if (!outcome) return kExitFailed;
  return Interrupted() ? kExitInterrupted : 0;
}

}  // namespace nfswalk::bench
