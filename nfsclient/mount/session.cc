#include "nfsclient/mount/session.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <pthread.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <syslog.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <fstream>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <thread>
#include <utility>

#include "nfsclient/mount/connect_guard.h"
#include "nfsclient/mount/file_system.h"
#include "nfsclient/mount/fuse.h"
#include "nfsclient/mount/init_reply.h"
#include "nfsclient/mount/mount_table.h"
#include "nfsclient/mount/operations.h"
#include "nfsclient/mount/pinned_mount_point.h"
#include "nfsclient/mount/receivers.h"

namespace nfswalk::mount {
namespace {

// Readahead and releases in flight at once.
constexpr unsigned kFuseBackgroundMax = 64;
// None of them waits for the server.
constexpr unsigned kReceiversMax = 8;
// How long the end of the mount waits for the server.
constexpr std::chrono::seconds kEndMax{30};
// How long without a word.
constexpr std::chrono::seconds kEndQuiet{1};
// The kernel's read-ahead for a sequential reader, instead of the 128 KiB that it begins with.
constexpr unsigned kReadAheadKib = 1024;
// How long an unmount takes that has taken the mount out of the kernel's table.
constexpr std::chrono::milliseconds kUnmountMax{1000};

bool Has(const SessionOptions& options, std::string_view option) {
  return std::ranges::find(options.options, option) != options.options.end();
}

void Initialize(void* file_system, fuse_conn_info* connection) {
  const auto want = [connection](unsigned capability, bool wanted) {
    connection->want &= ~capability;
    if (wanted) connection->want |= connection->capable & capability;
  };
  want(FUSE_CAP_ATOMIC_O_TRUNC, true);
  want(FUSE_CAP_AUTO_INVAL_DATA, true);
  want(FUSE_CAP_CACHE_SYMLINKS, true);
  want(FUSE_CAP_PARALLEL_DIROPS, true);
  want(FUSE_CAP_READDIRPLUS, true);
  want(FUSE_CAP_READDIRPLUS_AUTO, true);
  want(FUSE_CAP_EXPIRE_ONLY, true);
  // Writes come to this process at once; the kernel clears set-user-ID bits by a SETATTR of its
  // own.
  want(FUSE_CAP_WRITEBACK_CACHE, false);
  want(FUSE_CAP_HANDLE_KILLPRIV, false);
  FileSystem& mounted = *static_cast<FileSystem*>(file_system);
  mounted.caches.SetCanExpire((connection->capable & FUSE_CAP_EXPIRE_ONLY) != 0);
  // Without them locks are the kernel's own, of this machine.
  const bool locks = mounted.locks_on_server;
  want(FUSE_CAP_POSIX_LOCKS, locks);
  want(FUSE_CAP_FLOCK_LOCKS, locks);
  connection->max_background = kFuseBackgroundMax;
}

fuse_lowlevel_ops Operations() {
  fuse_lowlevel_ops operations{};
  operations.init = Initialize;
  AddNameOperations(operations);
  AddAttributeOperations(operations);
  AddFileOperations(operations);
  AddDirectoryOperations(operations);
  AddLockOperations(operations);
  AddXattrOperations(operations);
  return operations;
}

struct DestroySession {
  void operator()(fuse_session* session) const { fuse_session_destroy(session); }
};
using SessionHandle = std::unique_ptr<fuse_session, DestroySession>;

SessionHandle MakeSession(const SessionOptions& options, FileSystem& file_system) {
  fuse_args arguments = FUSE_ARGS_INIT(0, nullptr);
  fuse_opt_add_arg(&arguments, "nfswalk");
  for (const std::string& option : options.options) {
    // A comma in a value, as in a URL, would begin another option.
    char* escaped = nullptr;
    fuse_opt_add_opt_escaped(&escaped, option.c_str());
    fuse_opt_add_arg(&arguments, fmt::format("-o{}", escaped).c_str());
    std::free(escaped);
  }
  static const fuse_lowlevel_ops operations = Operations();
  SessionHandle session(
      fuse_session_new(&arguments, &operations, sizeof(operations), &file_system));
  fuse_opt_free_args(&arguments);
  return session;
}

// Checks what was mounted, and has the kernel read ahead as nfsrahead(5) does, where this process
// may: root may, mostly. `found`: the root of the mount. Preconditions: FUSE_INIT is not answered.
std::expected<void, std::string> CheckAndTune(const SessionOptions& options,
                                              const PinnedMountPoint& point, struct statx& found) {
  // Without a request, which would not be answered yet.
  if (statx(AT_FDCWD, point.path(), AT_SYMLINK_NOFOLLOW | AT_STATX_DONT_SYNC, 0, &found) != 0) {
    return std::unexpected(std::generic_category().message(errno));
  }
  std::ifstream table("/proc/self/mountinfo");
  const auto checked = CheckMount(FindMount(table, found.stx_dev_major, found.stx_dev_minor),
                                  options.options);
  if (!checked) return checked;
  std::ofstream(
      fmt::format("/sys/class/bdi/{}:{}/read_ahead_kb", found.stx_dev_major, found.stx_dev_minor))
      << kReadAheadKib;
  return {};
}

// Takes what umount(8) -f has aborted and, since a call was inside, not unmounted out of the table,
// where this process may: libfuse takes it for unmounted. Another file system that was mounted there
// meanwhile may have the same device number, but answers.
void Detach(const PinnedMountPoint& point, const struct statx& mounted) {
  std::ifstream table("/proc/self/mountinfo");
  if (FindMount(table, mounted.stx_dev_major, mounted.stx_dev_minor).empty()) return;
  struct statx now{};
  const bool is_dead = statx(AT_FDCWD, point.path(),
                             AT_SYMLINK_NOFOLLOW | AT_STATX_FORCE_SYNC, STATX_TYPE, &now) != 0 &&
                       errno == ENOTCONN;
  if (!is_dead) return;
  umount2(point.path(), MNT_DETACH | UMOUNT_NOFOLLOW);
}

// Returns false once it was unmounted, for which it waits a little.
bool IsConnected(fuse_session* session) {
  pollfd device{fuse_session_fd(session), 0, 0};
  return poll(&device, 1, kUnmountMax.count()) != 1;
}

// Unmounts by descriptor where the mount point is pinned. libfuse would run umount(8) where
// /etc/mtab exists, and /proc/self is another process for that.
void Unmount(fuse_session* session, const PinnedMountPoint& point, const struct statx& mounted) {
  point.LeadToRoot(mounted);
  pollfd device{fuse_session_fd(session), 0, 0};
  const bool is_unmounted = poll(&device, 1, 0) == 1;
  int ends[2];
  if (point.is_pinned() && !is_unmounted && pipe2(ends, O_CLOEXEC) == 0) {
    // A pipe without a reader in its place ends the connection, so that umount2(2) waits for no
    // answer, and is POLLERR to libfuse, which then takes it for unmounted.
    close(ends[0]);
    dup3(ends[1], device.fd, O_CLOEXEC);
    close(ends[1]);
    umount2(point.to_mount(), MNT_DETACH);
  }
  fuse_session_unmount(session);
}

// Gives up on a server that does not answer: after kEndMax, or once another signal comes. Says so,
// and before that that it waits; until then signals do not count. In use from its construction to
// its destruction.
class UnmountTimeout {
 public:
  UnmountTimeout(Client& client, const std::string& shown)
      : client_(client), shown_(shown), thread_([this] { Wait(); }) {}
  ~UnmountTimeout() {
    done_ = true;
    pthread_kill(thread_.native_handle(), SIGTERM);
  }
  UnmountTimeout(const UnmountTimeout&) = delete;
  UnmountTimeout& operator=(const UnmountTimeout&) = delete;

 private:
  using Clock = std::chrono::steady_clock;

  // Returns false at `limit`, true once an ending signal has come before.
  static bool AwaitSignal(Clock::time_point limit) {
    const sigset_t signals = EndingSignals();
    while (true) {
      const auto left = std::max(limit - Clock::now(), Clock::duration::zero());
      const auto seconds = std::chrono::floor<std::chrono::seconds>(left);
      const timespec time{.tv_sec = seconds.count(),
                          .tv_nsec = std::chrono::nanoseconds(left - seconds).count()};
      if (sigtimedwait(&signals, nullptr, &time) >= 0) return true;
      if (errno == EAGAIN) return false;
    }
  }

  void Wait() {
    const Clock::time_point begin = Clock::now();
    while (AwaitSignal(begin + kEndQuiet) && !done_) {
    }
    if (done_) return;
    syslog(LOG_WARNING,
           "%s: ends: calls wait for the server, %lld seconds at most; SIGTERM gives up at once",
           shown_.c_str(), static_cast<long long>(kEndMax.count()));
    AwaitSignal(begin + kEndMax);
    if (done_) return;
    syslog(LOG_ERR,
           "%s: ends without the server, which does not answer: calls fail, and data that it has "
           "not taken is lost",
           shown_.c_str());
    client_.Shutdown();
  }

  Client& client_;
  const std::string& shown_;
  std::atomic<bool> done_{false};
  std::jthread thread_;  // the last: it uses the others
};

// Lets requests that are in flight end, and writes all that was written, of files that are open and
// of those whose close(2) was interrupted; gives up on a server that does not answer.
void End(Client& client, FileSystem& file_system, Receivers& receivers, const std::string& shown) {
  std::optional<UnmountTimeout> timeout(std::in_place, client, shown);
  // While requests are received: the kernel may wait for one of them before it takes in what it is
  // told.
  (void)client.OnInvalidation({});
  receivers.End();
  file_system.workers.Finish();
  file_system.interrupts.EndThoseAtOnce();
  file_system.lock_waiters.Finish();
  file_system.files.Clear();
  file_system.open_retries.Clear();
  file_system.directories.Clear();
  // No program is left to report an error to. UnmountTimeout has logged that it did not wait.
  const std::errc lost = client.Sync();
  timeout.reset();
  if (lost != std::errc{} && lost != std::errc::operation_canceled) {
    syslog(LOG_ERR, "%s: data that was written is lost: %s", shown.c_str(),
           std::make_error_code(lost).message().c_str());
  }
  client.Shutdown();
}

}  // namespace

void BlockEndingSignals() {
  const sigset_t signals = EndingSignals();
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);
}

std::expected<void, std::string> Serve(Client& client, const MountOptions& mount,
                                       const SessionOptions& options,
                                       const std::function<void()>& mounted) {
  auto root = client.Resolve("/", Credential::OfProcess());
  if (!root) {
    return std::unexpected(
        fmt::format("the root of the export: {}", std::make_error_code(root.error()).message()));
  }
  FileSystem file_system(client, *std::move(root), mount, Has(options, "allow_other"));
  const SessionHandle session = MakeSession(options, file_system);
  if (session == nullptr) return std::unexpected("libfuse refuses the options");
  file_system.session = session.get();
  const PinnedMountPoint point(options.directory, Has(options, "auto_unmount"));
  if (!point.error().empty()) return std::unexpected(point.error());
  if (fuse_session_mount(session.get(), point.to_mount()) != 0) {
    return std::unexpected("libfuse cannot mount there");
  }
  CompleteInitReply(session.get());
  struct statx root_found{};
  if (auto checked = CheckAndTune(options, point, root_found); !checked && IsConnected(session.get())) {
    Unmount(session.get(), point, root_found);
    return std::unexpected(fmt::format("{}: not served, and unmounted", checked.error()));
  }
  struct sigaction wake{};
  wake.sa_handler = [](int) {};  // without SA_RESTART: ends a read(2)
  sigaction(SIGUSR1, &wake, nullptr);
  (void)client.OnInvalidation([&caches = file_system.caches, session = session.get()](
                                  const Invalidation& event) { caches.Deliver(session, event); });
  Receivers receivers(session.get(), file_system.requests);
  file_system.receivers = &receivers;
  if (!receivers.Start(std::clamp(std::thread::hardware_concurrency(), 2U, kReceiversMax))) {
    (void)client.OnInvalidation({});
    Unmount(session.get(), point, root_found);
    return std::unexpected("no thread can be started; unmounted");
  }
  mounted();
  const sigset_t signals = EndingSignals();
  int signal = 0;
  sigwait(&signals, &signal);
  End(client, file_system, receivers, options.shown);
  Unmount(session.get(), point, root_found);
  Detach(point, root_found);
  return {};
}

}  // namespace nfswalk::mount
