#include "bench/measure/progress.h"

#include <unistd.h>

#include <cstdio>

#include "fmt/format.h"

namespace nfswalk::bench {

void ShowProgress(std::string_view text) {
  if (isatty(STDERR_FILENO) == 0) return;
  fmt::print(stderr, "\r\033[K{}", text);
  std::fflush(stderr);
}

void Warn(std::string_view bench, std::string_view text) {
  ShowProgress("");
  fmt::print(stderr, "{}: {}\n", bench, text);
}

}  // namespace nfswalk::bench
