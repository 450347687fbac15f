#include <fcntl.h>
#include <linux/mount.h>
#include <sched.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <fstream>
#include <sstream>
#include <utility>
#include <vector>

#include "bench/measure/owned_fd.h"
#include "bench/measure/subjects.h"
#include "fmt/format.h"

namespace nfswalk::bench {
namespace {

std::unexpected<std::string> Failed(std::string_view what) {
  return std::unexpected(fmt::format("{}: {}", what, std::strerror(errno)));
}

using MountParameters = std::vector<std::pair<std::string, std::string>>;

// Mounts without a place in any mount table. A parameter without a value is a flag.
std::expected<OwnedFd, std::string> MountDetached(const char* type,
                                                  const MountParameters& parameters) {
  const OwnedFd context(static_cast<int>(syscall(SYS_fsopen, type, FSOPEN_CLOEXEC)));
  if (context.get() < 0) {
    return Failed(fmt::format("cannot mount {} by this kernel (fsopen, needs root)", type));
  }
  for (const auto& [key, value] : parameters) {
    const unsigned command = value.empty() ? FSCONFIG_SET_FLAG : FSCONFIG_SET_STRING;
    const char* const text = value.empty() ? nullptr : value.c_str();
    if (syscall(SYS_fsconfig, context.get(), command, key.c_str(), text, 0) != 0) {
      return Failed(fmt::format("cannot mount {} with {}={} (fsconfig)", type, key, value));
    }
  }
  if (syscall(SYS_fsconfig, context.get(), FSCONFIG_CMD_CREATE, nullptr, nullptr, 0) != 0) {
    return Failed(fmt::format("cannot mount {} (fsconfig)", type));
  }
  OwnedFd mount(static_cast<int>(syscall(SYS_fsmount, context.get(), FSMOUNT_CLOEXEC, 0)));
  if (mount.get() < 0) return Failed(fmt::format("cannot mount {} (fsmount)", type));
  return mount;
}

class KernelThread final : public SubjectThread {
 public:
  // Files have the modes they are given.
  KernelThread() { umask(0); }

  Answer Ask(const Call& call, std::span<char> link_text) override {
    switch (call.kind) {
      case CallKind::kReadLink:
        return ReadLink(call.path.data(), link_text);
      case CallKind::kOpen:
        return Open(call);
      case CallKind::kAccess:
        return Access(call);
      case CallKind::kReadDir:
        return ReadDir(call.path.data());
      default:
        return Stat(call);
    }
  }

  Answer Change(const BuildCall& call) override {
    return {.error = Changes(call) == 0 ? 0 : errno};
  }

 private:
  // 0, or -1 with errno.
  static int Changes(const BuildCall& call) {
    const char* path = call.path.data();
    switch (call.kind) {
      case CallKind::kCreate: {
        const int flags = O_WRONLY | O_CREAT | O_CLOEXEC | (call.exclusive ? O_EXCL : 0);
        return OwnedFd(open(path, flags, call.mode)).get() >= 0 ? 0 : -1;
      }
      case CallKind::kTruncate:
        return truncate(path, static_cast<off_t>(call.size_bytes));
      case CallKind::kMakeDirectory:
        return mkdir(path, call.mode);
      case CallKind::kRemoveDirectory:
        return rmdir(path);
      case CallKind::kUnlink:
        return unlink(path);
      case CallKind::kSymlink:
        return symlink(call.second.data(), path);
      case CallKind::kLink:
        return link(path, call.second.data());
      case CallKind::kRename:
        return rename(path, call.second.data());
      case CallKind::kChmod:
        return chmod(path, call.mode);
      default:
        return SetTime(call);
    }
  }

  static int SetTime(const BuildCall& call) {
    timespec times[2] = {{.tv_sec = 0, .tv_nsec = UTIME_OMIT}, {.tv_sec = 0, .tv_nsec = UTIME_NOW}};
    if (call.modified) {
      times[1] = {.tv_sec = call.modified->seconds, .tv_nsec = call.modified->nanoseconds};
    }
    return utimensat(AT_FDCWD, call.path.data(), times, call.no_follow ? AT_SYMLINK_NOFOLLOW : 0);
  }

  static Answer Stat(const Call& call) {
    struct stat status;
    const int flags = call.no_follow ? AT_SYMLINK_NOFOLLOW : 0;
    if (fstatat(AT_FDCWD, call.path.data(), &status, flags) != 0) return {.error = errno};
    return {.mode = status.st_mode,
            .size_bytes = static_cast<uint64_t>(status.st_size),
            .links = static_cast<uint32_t>(status.st_nlink),
            .modified = {.seconds = status.st_mtim.tv_sec,
                         .nanoseconds = static_cast<uint32_t>(status.st_mtim.tv_nsec)}};
  }

  static Answer Access(const Call& call) {
    const long result = call.no_follow
                            ? syscall(SYS_faccessat2, AT_FDCWD, call.path.data(), call.access_mode,
                                      AT_SYMLINK_NOFOLLOW)
                            : syscall(SYS_faccessat, AT_FDCWD, call.path.data(), call.access_mode);
    return {.error = result == 0 ? 0 : errno};
  }

  static Answer Open(const Call& call) {
    const int no_follow = call.no_follow ? O_NOFOLLOW : 0;
    const int mode = call.access_mode == kMayWrite ? O_WRONLY : O_RDONLY;
    const OwnedFd file(open(call.path.data(), mode | O_CLOEXEC | no_follow));
    return {.error = file.get() >= 0 ? 0 : errno};
  }

  static Answer ReadLink(const char* path, std::span<char> link_text) {
    const ssize_t count = readlink(path, link_text.data(), link_text.size());
    if (count < 0) return {.error = errno};
    return {.size_bytes = static_cast<uint64_t>(count)};
  }

  static Answer ReadDir(const char* path) {
    const OwnedFd directory(open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (directory.get() < 0) return {.error = errno};
    char entries[4096];
    long count = 0;
    do {
      count = syscall(SYS_getdents64, directory.get(), entries, sizeof entries);
    } while (count > 0);
    return {.error = count == 0 ? 0 : errno};
  }
};

class KernelSubject : public Subject {
 public:
  explicit KernelSubject(OwnedFd root) : root_(std::move(root)) {}

  std::string_view subject() const override { return "kernel, tmpfs"; }
  std::string_view mode() const override { return "-"; }

  std::expected<std::unique_ptr<SubjectThread>, std::string> StartThread() override {
    if (unshare(CLONE_FS) != 0) return Failed("cannot give a thread a root of its own (unshare)");
    if (fchdir(root_.get()) != 0) return Failed("cannot enter the mount (fchdir)");
    if (chroot(".") != 0) return Failed("cannot make the mount the root (chroot)");
    return std::make_unique<KernelThread>();
  }

 private:
  OwnedFd root_;
};

MountParameters ParametersOf(const MountOptions& options) {
  const protocol::ServerAddress& server = options.server;
  MountParameters parameters = {{"source", fmt::format("{}:{}", server.host, server.export_path)},
                                {"vers", server.version == 3 ? "3" : "4.0"},
                                {"addr", server.host},
                                {"proto", "tcp"},
                                {"nosharecache", ""},  // as two mounts of ours
                                {"acregmin", std::to_string(options.acregmin_s)},
                                {"acregmax", std::to_string(options.acregmax_s)},
                                {"acdirmin", std::to_string(options.acdirmin_s)},
                                {"acdirmax", std::to_string(options.acdirmax_s)},
                                {options.nocto ? "nocto" : "cto", ""}};
  if (server.nfs_port != 0) parameters.emplace_back("port", std::to_string(server.nfs_port));
  if (server.version != 3) {
    // No address for callbacks, hence no delegations of a server elsewhere: we take none either.
    parameters.emplace_back("clientaddr", "0.0.0.0");
    return parameters;
  }
  parameters.insert(parameters.end(), {{"nolock", ""}, {"mountproto", "tcp"}});
  if (server.mount_port != 0) {
    parameters.emplace_back("mountport", std::to_string(server.mount_port));
  }
  return parameters;
}

class KernelClientSubject final : public KernelSubject {
 public:
  KernelClientSubject(OwnedFd root, std::ifstream calls, int version, std::string_view mode)
      : KernelSubject(std::move(root)),
        calls_(std::move(calls)),
        counted_(fmt::format("proc{}", version)),
        subject_(fmt::format("kernel, nfs {}", mode)) {}

  std::string_view subject() const override { return subject_; }

  // RPCs alone, and those of all mounts of the version.
  Stats stats() const override {
    Stats stats;
    calls_.clear();
    calls_.seekg(0);
    for (std::string line, name; std::getline(calls_, line);) {
      std::istringstream words(line);
      uint64_t procedures = 0;
      words >> name >> procedures;
      if (name != counted_) continue;
      for (uint64_t calls; words >> calls;) stats.rpcs += calls;
    }
    return stats;
  }

 private:
  mutable std::ifstream calls_;  // /proc/net/rpc/nfs: calls by version and procedure
  const std::string counted_;
  const std::string subject_;
};

}  // namespace

std::expected<std::unique_ptr<Subject>, std::string> MakeKernelSubject(const FileTree& tree) {
  std::expected<OwnedFd, std::string> root = MountDetached("tmpfs", {});
  if (!root) return std::unexpected(std::move(root.error()));
  if (Outcome made = MakeLocally(tree, root->get()); !made) {
    return std::unexpected(std::move(made.error()));
  }
  return std::make_unique<KernelSubject>(std::move(*root));
}

std::expected<std::unique_ptr<Subject>, std::string> MakeKernelClientSubject(
    const MountOptions& options, ServerExport& server, std::string_view mode) {
  std::expected<OwnedFd, std::string> root = std::unexpected(std::string());
  std::ifstream calls;
  server.InItsNetwork([&] {
    root = MountDetached("nfs", ParametersOf(options));
    calls.open("/proc/thread-self/net/rpc/nfs");
  });
  if (!root) return std::unexpected(std::move(root.error()));
  if (!calls) return Failed("cannot read the kernel's counters (/proc/net/rpc/nfs)");
  return std::make_unique<KernelClientSubject>(std::move(*root), std::move(calls),
                                               options.server.version, mode);
}

}  // namespace nfswalk::bench
