// console: standard output, messages on standard error and the progress line, so that the three do
// not run into each other on one terminal.
//
// Output is buffered and written whole; the first write that fails is remembered, all later output
// is dropped. SIGPIPE must be ignored by the process, so that a reader that left shows as EPIPE.
//
// The progress line appears on standard error if that is a terminal, once the work has taken a
// second and nothing has been printed to a terminal for as long; whatever is printed next wipes it.
//
// Thread safety: all calls may be made from any number of threads at once.
#ifndef NFSWALK_NFSCLIENT_CLI_CONSOLE_H_
#define NFSWALK_NFSCLIENT_CLI_CONSOLE_H_

#include <atomic>
#include <chrono>
#include <cstdint>
#include <mutex>
#include <string>
#include <string_view>

namespace nfswalk::cli {

class Console {
 public:
  using Clock = std::chrono::steady_clock;

  struct Streams {
    int out_fd = 1;  // both borrowed
    int err_fd = 2;
    bool out_is_terminal = false;
    bool err_is_terminal = false;
  };
  // Standard output and standard error of this process.
  static Streams ProcessStreams();

  // `task`: the command's name, shown in the progress line.
  Console(const Streams& streams, std::string task, Clock::time_point started = Clock::now());
  Console(const Console&) = delete;
  Console& operator=(const Console&) = delete;
  ~Console();  // as Finish()

  bool out_is_terminal() const { return streams_.out_is_terminal; }
  bool err_is_terminal() const { return streams_.err_is_terminal; }

  // Bytes for standard output.
  void Print(std::string_view bytes);
  // A name for standard output: escaped if that is a terminal, else the bytes themselves.
  std::string ForOutput(std::string_view name) const;
  // "nfswalk: <sentence>" on standard error, after all that was printed before.
  void Complain(std::string_view sentence);

  // Work done so far, in units ("entries", "bytes") of which a run has only one kind.
  void Advance(uint64_t count, const char* unit);
  // More work of the same unit lies ahead: the progress line then has the rate and the time left.
  void Expect(uint64_t count) { expected_ += count; }
  // Redraws the progress line if it is time for it.
  void ShowProgress(Clock::time_point now);

  // Writes what is buffered and wipes the progress line.
  void Finish();

  // errno of the first write to standard output that failed, 0 if none did. Work whose output goes
  // nowhere should end.
  int output_error() const { return output_error_.load(); }

 private:
  std::string Progress(Clock::duration elapsed) const;
  void FlushLocked();
  void WipeLocked();

  const Streams streams_;
  const std::string task_;
  const Clock::time_point started_;
  std::atomic<int> output_error_{0};
  std::atomic<uint64_t> done_{0};
  std::atomic<uint64_t> expected_{0};
  std::atomic<const char*> unit_{nullptr};

  std::mutex mutex_;  // guards what follows, and writing to either stream
  std::string buffer_;
  Clock::time_point last_printed_;
  bool progress_shown_ = false;
};

}  // namespace nfswalk::cli

#endif  // NFSWALK_NFSCLIENT_CLI_CONSOLE_H_
