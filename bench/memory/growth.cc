#include "bench/memory/growth.h"

#include <malloc.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <thread>

#include "bench/memory/filled_client.h"
#include "bench/memory/proc_bytes.h"
#include "fmt/format.h"

namespace nfswalk::bench {
namespace {

using Bytes = std::expected<uint64_t, std::string>;

// Repeats the sample: memory freed last returns to the system only after a grace period of RCU.
constexpr int kSamples = 20;
constexpr std::chrono::milliseconds kBetweenSamples(10);

Bytes ResidentBytes() {
  malloc_trim(0);
  // Exact, where the counters of statm lag behind.
  return ProcBytes("/proc/self/smaps_rollup", "Rss:");
}

Bytes ResidentBytesAtRest() {
  Bytes least = ResidentBytes();
  for (int sample = 1; sample < kSamples && least; ++sample) {
    std::this_thread::sleep_for(kBetweenSamples);
    const Bytes now = ResidentBytes();
    if (!now) return now;
    least = std::min(*least, *now);
  }
  return least;
}

Bytes Grow(const SyntheticTree& tree) {
  const auto client = MountSynthetic(tree);
  if (!client) return std::unexpected(client.error());
  const Bytes before = ResidentBytesAtRest();
  if (!before) return before;
  if (Outcome filled = Fill(**client, tree); !filled) {
    return std::unexpected(std::move(filled.error()));
  }
  const Bytes after = ResidentBytesAtRest();
  if (!after) return after;
  return *after - std::min(*before, *after);
}

// The child's answer: "bytes NUMBER", or the error.
constexpr std::string_view kAnswer = "bytes ";

[[noreturn]] void AnswerAndExit(int pipe, const Bytes& growth) {
  const std::string text = growth ? fmt::format("{}{}", kAnswer, *growth) : growth.error();
  const ssize_t written = write(pipe, text.data(), text.size());
  _exit(written == static_cast<ssize_t>(text.size()) ? 0 : 1);
}

std::string ReadAll(int pipe) {
  std::string text;
  std::array<char, 512> piece;
  for (ssize_t count; (count = read(pipe, piece.data(), piece.size())) != 0;) {
    if (count > 0) text.append(piece.data(), static_cast<size_t>(count));
    if (count < 0 && errno != EINTR) break;
  }
  return text;
}

}  // namespace

Bytes ResidentGrowth(const SyntheticTree& tree) {
  std::array<int, 2> ends;
  if (pipe(ends.data()) != 0) return std::unexpected(std::strerror(errno));
  const pid_t child = fork();
  if (child < 0) return std::unexpected(fmt::format("fork: {}", std::strerror(errno)));
  if (child == 0) {
    close(ends[0]);
    AnswerAndExit(ends[1], Grow(tree));
  }
  close(ends[1]);
  const std::string text = ReadAll(ends[0]);
  close(ends[0]);
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  if (text.starts_with(kAnswer)) return std::stoull(text.substr(kAnswer.size()));
  if (!text.empty()) return std::unexpected(text);
  if (!WIFSIGNALED(status)) return std::unexpected("the process that grows gave no answer");
  return std::unexpected(
      fmt::format("the process that grows was killed by signal {}", WTERMSIG(status)));
}

}  // namespace nfswalk::bench
