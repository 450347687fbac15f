// stream: by how much a process grows at most that writes a large file through a mount of its own,
// beside threads that read it and another one.
#include <atomic>
#include <cstdio>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "bench/data/file_thread.h"
#include "bench/measure/command_line.h"
#include "bench/measure/team.h"
#include "bench/measure/terminal.h"
#include "bench/memory/proc_bytes.h"
#include "fmt/format.h"
#include "nfsclient/client.h"
#include "nfsclient/superblock/cache_limits.h"

namespace nfswalk::bench {
namespace {

constexpr const char* kStatus = "/proc/self/status";

struct StreamOptions {
  std::string url;
  std::string written;   // the file, which does not exist
  std::string existing;  // another one, which has as many bytes
  uint64_t steps = 0;    // of kStepBytes
  size_t readers = 0;
};

class Stream {
 public:
  Stream(Client& client, const StreamOptions& options) : client_(client), options_(options) {
    rooms_.assign(options.readers + 1, std::vector<std::byte>(kStepBytes, kFill));
  }

  Outcome Run() {
    auto made = client_.CreateAndOpen(options_.written, kMayRead | kMayWrite, 0644,
                                      /*exclusive=*/true, Credential::OfProcess());
    if (!made) return TransferFailed("creating " + options_.written);
    writer_ = std::move(made->file);
    // The last one writes.
    const auto work = [this](size_t thread) {
      if (thread < options_.readers) return Read(thread);
      Outcome written = Write(rooms_[thread]);
      has_ended_ = true;
      return written;
    };
    const auto time = RunTeam(rooms_.size(), Placement::kAnywhere, work);
    return time ? Outcome() : std::unexpected(time.error());
  }

 private:
  Outcome Write(std::vector<std::byte>& step) {
    for (uint64_t i = 0; i < options_.steps && !Interrupted(); ++i) {
      Stamp(step, i * kStepBytes);
      if (writer_->PWrite(step, i * kStepBytes) != kStepBytes) return TransferFailed("a write");
      steps_written_ = i + 1;
    }
    return writer_->Sync() == std::errc{} ? Outcome() : TransferFailed("fsync");
  }

  // Steps at random: one thread in two of what was written so far, the others of the other file.
  Outcome Read(size_t thread) {
    const bool reads_written = thread % 2 == 0;
    const std::string& name = reads_written ? options_.written : options_.existing;
    const auto file = client_.Open(name, kMayRead, Credential::OfProcess());
    if (!file) return TransferFailed("opening " + name);
    std::mt19937_64 random(thread);
    std::vector<std::byte>& room = rooms_[thread];
    while (!has_ended_ && !Interrupted()) {
      const uint64_t steps = reads_written ? steps_written_.load() : options_.steps;
      if (steps == 0) continue;
      const uint64_t at = random() % steps * kStepBytes;
      if ((*file)->PRead(room, at) != kStepBytes) return TransferFailed("a read");
      if (!IsContent(room, at)) return WrongData();
    }
    return {};
  }

  Client& client_;
  const StreamOptions& options_;
  std::unique_ptr<File> writer_;
  std::vector<std::vector<std::byte>> rooms_;  // of each thread
  std::atomic<uint64_t> steps_written_{0};
  std::atomic<bool> has_ended_{false};
};

// Prints the growth, and the limit of dirty data, in bytes.
Outcome RunStream(const StreamOptions& options) {
  const auto mount = ParseMountUrl(options.url);
  if (!mount) return std::unexpected(mount.error());
  const size_t limit_bytes = nfs::LimitsOf(*mount).dirty_bytes;
  const auto client = Client::Mount(*mount);
  if (!client) return std::unexpected(client.error().message);
  Stream stream(**client, options);
  const auto before = ProcBytes(kStatus, "VmRSS:");
  if (!before) return std::unexpected(before.error());
  if (Outcome streamed = stream.Run(); !streamed) return streamed;
  const auto most = ProcBytes(kStatus, "VmHWM:");
  if (!most) return std::unexpected(most.error());
  fmt::print("{} {}\n", *most - std::min(*before, *most), limit_bytes);
  return {};
}

int Main(int argc, char** argv) {
  StreamOptions options;
  CLI::App app(
      "Writes a file beside threads that read it and another one, each byte of which is compared. "
      "Prints the bytes by which the process grew at most, and those that may be dirty.",
      "stream");
  app.add_option("url", options.url, "An nfs:// URL")->required();
  app.add_option("written", options.written, "A file that does not exist")->required();
  app.add_option("existing", options.existing, "One that \"data\" has made")->required();
  app.add_option("mebibytes", options.steps, "Size of both")->required();
  app.add_option("readers", options.readers, "How many threads read")->required();
  return RunBenchmark(app, argc, argv, [&] { return RunStream(options); });
}

}  // namespace
}  // namespace nfswalk::bench

int main(int argc, char** argv) { return nfswalk::bench::Main(argc, argv); }
