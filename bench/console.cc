#include "bench/console.h"

#include <unistd.h>

#include <cstdio>
#include <fstream>

#include "fmt/format.h"

namespace nfswalk::bench {

void ShowProgress(std::string_view what) {
  if (isatty(STDERR_FILENO) == 0) return;
  std::fflush(stdout);
  fmt::print(stderr, "\r\033[K{}", what);
  std::fflush(stderr);
}

std::string WriteTextFile(const std::string& file, std::string_view text) {
  std::ofstream stream(file);
  stream << text;
  stream.close();
  return stream ? "" : fmt::format("cannot write \"{}\"", file);
}

}  // namespace nfswalk::bench
