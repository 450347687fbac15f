#include "tests/hostile/victim.h"

#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

#include <algorithm>
#include <climits>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <utility>

#include "tests/hostile/launcher.h"

namespace nfswalk::hostile {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

constexpr size_t kKeptBytes = 1024 * 1024;
constexpr int kLookMilliseconds = 10;  // between two looks at the limits

int Checked(int result, const char* what) {
  if (result >= 0) return result;
  std::perror(what);
  std::abort();
}

struct Ends {
  int read;
  int write;
};

Ends Pipe() {
  int fds[2];
  Checked(pipe2(fds, O_CLOEXEC | O_NONBLOCK), "pipe2");
  Checked(fcntl(fds[1], F_SETFL, 0), "fcntl");
  return {fds[0], fds[1]};
}

// A terminal that changes no byte.
Ends Terminal() {
  const int master = Checked(posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC), "posix_openpt");
  char name[PATH_MAX];
  Checked(grantpt(master), "grantpt");
  Checked(unlockpt(master), "unlockpt");
  Checked(-ptsname_r(master, name, sizeof name), "ptsname_r");
  const int slave = Checked(open(name, O_RDWR | O_NOCTTY | O_CLOEXEC), name);
  termios settings{};
  Checked(tcgetattr(slave, &settings), "tcgetattr");
  cfmakeraw(&settings);
  Checked(tcsetattr(slave, TCSANOW, &settings), "tcsetattr");
  Checked(fcntl(master, F_SETFL, O_NONBLOCK), "fcntl");
  return {master, slave};
}

// In a process group of its own.
pid_t Spawn(std::vector<std::string> arguments, int out, int err, int ended) {
  static char launcher[] = "tests/hostile/launcher";
  std::vector<char*> argv = {launcher};
  for (std::string& argument : arguments) argv.push_back(argument.data());
  argv.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_adddup2(&actions, out, STDOUT_FILENO);
  posix_spawn_file_actions_adddup2(&actions, err, STDERR_FILENO);
  posix_spawn_file_actions_adddup2(&actions, ended, LAUNCHER_FD);
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP);
  pid_t pid = -1;
  Checked(-posix_spawn(&pid, launcher, &actions, &attributes, argv.data(), environ), launcher);
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&actions);
  return pid;
}

// Reads what is there. False at the end.
bool Drain(int fd, std::string& text) {
  char bytes[64 * 1024];
  for (;;) {
    const ssize_t count = read(fd, bytes, sizeof bytes);
    if (count <= 0) return count < 0 && errno == EAGAIN;
    text.append(bytes, std::min<size_t>(static_cast<size_t>(count), kKeptBytes - text.size()));
  }
}

int MillisecondsUntil(Clock::time_point time) {
  const Clock::time_point now = Clock::now();
  if (time > now + milliseconds{kLookMilliseconds}) return kLookMilliseconds;
  return static_cast<int>(std::max<int64_t>(std::chrono::ceil<milliseconds>(time - now).count(), 0));
}

// Collects its output until the process has ended, or `until`. Returns whether it has ended.
bool Follow(int process, pid_t group, const Ends& out, const Ends& err, Clock::time_point until,
            const VictimLimits& limits, VictimEnd& end) {
  pollfd fds[] = {{process, POLLIN, 0}, {out.read, POLLIN, 0}, {err.read, POLLIN, 0}};
  for (;;) {
    const int left = MillisecondsUntil(until);
    if (left == 0 || (limits.is_killed && limits.is_killed())) return false;
    if (limits.is_interrupted && limits.is_interrupted()) kill(-group, SIGINT);
    Checked(poll(fds, std::size(fds), left), "poll");
    if (fds[1].revents != 0 && !Drain(out.read, end.out)) fds[1].fd = -1;
    if (fds[2].revents != 0 && !Drain(err.read, end.err)) fds[2].fd = -1;
    if (fds[0].revents == 0) continue;
    Drain(out.read, end.out);
    Drain(err.read, end.err);
    return true;
  }
}

}  // namespace

VictimEnd RunVictim(std::vector<std::string> argv, const VictimLimits& limits) {
  const Ends out = Terminal(), err = Pipe(), ended = Pipe();
  const Clock::time_point started = Clock::now();
  const pid_t pid = Spawn(std::move(argv), out.write, err.write, ended.write);
  const int process = Checked(static_cast<int>(syscall(SYS_pidfd_open, pid, 0)), "pidfd_open");
  close(err.write);
  VictimEnd end;
  bool is_over = false;
  if (limits.interrupted_after) {
    is_over = Follow(process, pid, out, err, started + *limits.interrupted_after, limits, end);
    if (!is_over) kill(-pid, SIGINT);
  }
  const Clock::time_point killed_at =
      limits.killed_after ? started + *limits.killed_after : Clock::time_point::max();
  if (!is_over && !Follow(process, pid, out, err, killed_at, limits, end)) {
    end.was_killed = true;
    kill(-pid, SIGKILL);
  }
  Checked(waitpid(pid, nullptr, 0), "waitpid");
  launched how{};
  if (read(ended.read, &how, sizeof how) == sizeof how) {
    if (WIFSIGNALED(how.status)) end.signal = WTERMSIG(how.status);
    if (WIFEXITED(how.status)) end.exit_code = WEXITSTATUS(how.status);
    end.resident_kib_max = how.resident_kib_max;
  }
  for (const int fd : {out.read, out.write, err.read, ended.read, ended.write, process}) close(fd);
  return end;
}

}  // namespace nfswalk::hostile
