#include "nfsclient/cli/console.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "nfsclient/cli/show/escape.h"
#include "nfsclient/cli/show/human_size.h"

namespace nfswalk::cli {
namespace {

constexpr size_t kBufferBytes = 64 * 1024;
constexpr std::chrono::seconds kQuiet{1};
constexpr std::string_view kWipe = "\r\033[K";

// 0, or errno.
int WriteAll(int fd, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t written = write(fd, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return errno;
    bytes.remove_prefix(static_cast<size_t>(written));
  }
  return 0;
}

}  // namespace

Console::Streams Console::ProcessStreams() {
  Streams streams;
  streams.out_is_terminal = isatty(streams.out_fd) == 1;
  streams.err_is_terminal = isatty(streams.err_fd) == 1;
  return streams;
}

Console::Console(const Streams& streams, std::string task, Clock::time_point started)
    : streams_(streams), task_(std::move(task)), started_(started), last_printed_(started) {}

Console::~Console() { Finish(); }

void Console::Print(std::string_view bytes) {
  const std::lock_guard lock(mutex_);
  // Much, as of a file, is not copied.
  const bool is_much = bytes.size() >= kBufferBytes && !streams_.out_is_terminal;
  if (is_much) {
    FlushLocked();
    if (output_error_ == 0) output_error_ = WriteAll(streams_.out_fd, bytes);
    return;
  }
  buffer_ += bytes;
  if (streams_.out_is_terminal || buffer_.size() >= kBufferBytes) FlushLocked();
}

std::string Console::ForOutput(std::string_view name) const {
  return streams_.out_is_terminal ? Escape(name) : std::string(name);
}

void Console::Complain(std::string_view sentence) {
  const std::lock_guard lock(mutex_);
  FlushLocked();
  WipeLocked();
  // There is nowhere left to report a standard error that cannot be written.
  (void)WriteAll(streams_.err_fd, fmt::format("nfswalk: {}\n", sentence));
}

void Console::Advance(uint64_t count, const char* unit) {
  unit_ = unit;
  done_ += count;
}

void Console::ShowProgress(Clock::time_point now) {
  const std::lock_guard lock(mutex_);
  if (!streams_.err_is_terminal || now - last_printed_ < kQuiet) return;
  const auto elapsed = std::chrono::duration_cast<std::chrono::seconds>(now - started_);
  progress_shown_ = true;
  (void)WriteAll(streams_.err_fd, fmt::format("{}nfswalk: {}: {}, {} s", kWipe, task_,
                                              Progress(now - started_), elapsed.count()));
}

// "4096 bytes", or "1.5M of 12M, 3M/s, 4 s left".
std::string Console::Progress(Clock::duration elapsed) const {
  const char* const unit = unit_.load();
  const uint64_t done = done_.load();
  const uint64_t expected = expected_.load();
  if (unit == nullptr) return "waiting for the server";
  const double seconds = std::chrono::duration<double>(elapsed).count();
  const double rate = static_cast<double>(done) / seconds;
  if (expected <= done || done == 0 || seconds <= 0) return fmt::format("{} {}", done, unit);
  const double left = static_cast<double>(expected - done) / rate;
  return fmt::format("{} of {}, {}/s, {:.0f} s left", HumanSize(done), HumanSize(expected),
                     HumanSize(static_cast<uint64_t>(rate)), left);
}

void Console::Finish() {
  const std::lock_guard lock(mutex_);
  FlushLocked();
  WipeLocked();
}

void Console::FlushLocked() {
  if (buffer_.empty()) return;
  if (streams_.out_is_terminal) {
    WipeLocked();
    last_printed_ = Clock::now();
  }
  if (output_error_ == 0) output_error_ = WriteAll(streams_.out_fd, buffer_);
  buffer_.clear();
}

void Console::WipeLocked() {
  if (!progress_shown_) return;
  progress_shown_ = false;
  (void)WriteAll(streams_.err_fd, kWipe);
}

}  // namespace nfswalk::cli
