#include "bench/data/command_run.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstring>

#include "bench/measure/machine_share.h"
#include "bench/measure/owned_fd.h"
#include "bench/measure/terminal.h"
#include "fmt/format.h"

namespace nfswalk::bench {
namespace {

using Clock = std::chrono::steady_clock;

constexpr size_t kKeptBytes = 2000;

// The beginning of what a program has written.
std::string TextIn(int fd) {
  std::string text(kKeptBytes, '\0');
  const ssize_t count = pread(fd, text.data(), text.size(), 0);
  text.resize(count > 0 ? static_cast<size_t>(count) : 0);
  return text;
}

double Seconds(const timeval& time) {
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) * 1e-6;
}

}  // namespace

std::expected<CommandTime, std::string> RunTimed(const std::vector<std::string>& arguments,
                                                 std::string* output) {
  const OwnedFd err(memfd_create("stderr", MFD_CLOEXEC));
  const OwnedFd out(output == nullptr ? open("/dev/null", O_WRONLY | O_CLOEXEC)
                                      : memfd_create("stdout", MFD_CLOEXEC));
  std::vector<char*> argv;
  for (const std::string& argument : arguments) argv.push_back(const_cast<char*>(argument.c_str()));
  argv.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_adddup2(&actions, out.get(), STDOUT_FILENO);
  posix_spawn_file_actions_adddup2(&actions, err.get(), STDERR_FILENO);
  pid_t pid = -1;
  const Clock::time_point started = Clock::now();
  const int refused = posix_spawnp(&pid, argv[0], &actions, nullptr, argv.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  if (refused != 0) {
    return std::unexpected(fmt::format("cannot run {}: {}", argv[0], std::strerror(refused)));
  }
  int status = 0;
  rusage used{};
  while (wait4(pid, &status, 0, &used) < 0 && errno == EINTR) {
  }
  const std::chrono::duration<double> took = Clock::now() - started;
  if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) {
    return std::unexpected(fmt::format("{} failed: {}", argv[0], TextIn(err.get())));
  }
  if (output != nullptr) *output = TextIn(out.get());
  return CommandTime{took.count(), Seconds(used.ru_utime) + Seconds(used.ru_stime)};
}

std::expected<DataTurn, std::string> CommandTurn(const DataPlace& place,
                                                 const std::vector<std::string>& arguments,
                                                 uint64_t ops, std::string* output) {
  const MachineShare machine(place.server.server_pid());
  std::expected<CommandTime, std::string> time;
  place.server.InItsNetwork([&] { time = RunTimed(arguments, output); });
  if (!time && !Interrupted()) return std::unexpected(time.error());
  DataTurn taken{.turn = {.ops = ops, .seconds = time ? time->seconds : 0}};
  machine.AddTo(taken.turn, time ? time->cpu_s : 0);
  return taken;
}

std::string UrlOf(const DataPlace& place, const std::string& file, int version, Way way) {
  uint16_t port = 0;
  if (way == Way::kDistant) port = place.distant->port();
  if (way == Way::kCounted) port = place.counted->port();
  return place.server.UrlOf(place.directory + file, version, port);
}

}  // namespace nfswalk::bench
