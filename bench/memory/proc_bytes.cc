#include "bench/memory/proc_bytes.h"

#include <fstream>
#include <sstream>

#include "fmt/format.h"

namespace nfswalk::bench {

std::expected<uint64_t, std::string> BytesIn(const std::string& text, std::string_view name) {
  constexpr uint64_t kKilobyte = 1024;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    std::string first, unit;
    uint64_t count = 0;
    if (words >> first >> count >> unit && first == name && unit == "kB") return count * kKilobyte;
  }
  return std::unexpected(fmt::format("no size \"{}\" in kB", name));
}

std::expected<uint64_t, std::string> ProcBytes(const char* file, std::string_view name) {
  const std::ifstream stream(file);
  std::ostringstream text;
  text << stream.rdbuf();
  auto bytes = BytesIn(text.str(), name);
  if (!bytes) return std::unexpected(fmt::format("{}: {}", file, bytes.error()));
  return bytes;
}

}  // namespace nfswalk::bench
