#include <fcntl.h>
#include <linux/mount.h>
#include <sched.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "bench/measure/owned_fd.h"
#include "bench/measure/subjects.h"
#include "fmt/format.h"

namespace nfswalk::bench {
namespace {

std::unexpected<std::string> Failed(std::string_view what) {
  return std::unexpected(fmt::format("{}: {}", what, std::strerror(errno)));
}

// A tmpfs without a place in any mount table.
std::expected<OwnedFd, std::string> DetachedTmpfs() {
  const OwnedFd context(static_cast<int>(syscall(SYS_fsopen, "tmpfs", FSOPEN_CLOEXEC)));
  if (context.get() < 0) return Failed("cannot open a private tmpfs (fsopen, needs root)");
  if (syscall(SYS_fsconfig, context.get(), FSCONFIG_CMD_CREATE, nullptr, nullptr, 0) != 0) {
    return Failed("cannot make a private tmpfs (fsconfig)");
  }
  OwnedFd mount(static_cast<int>(syscall(SYS_fsmount, context.get(), FSMOUNT_CLOEXEC, 0)));
  if (mount.get() < 0) return Failed("cannot mount a private tmpfs (fsmount)");
  return mount;
}

class KernelThread final : public SubjectThread {
 public:
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

 private:
  static Answer Stat(const Call& call) {
    struct stat status;
    const int flags = call.no_follow ? AT_SYMLINK_NOFOLLOW : 0;
    if (fstatat(AT_FDCWD, call.path.data(), &status, flags) != 0) return {.error = errno};
    return {.mode = status.st_mode, .size_bytes = static_cast<uint64_t>(status.st_size)};
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
    const OwnedFd file(open(call.path.data(), O_RDONLY | O_CLOEXEC | no_follow));
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

class KernelSubject final : public Subject {
 public:
  explicit KernelSubject(OwnedFd root) : root_(std::move(root)) {}

  std::string_view subject() const override { return "kernel, tmpfs"; }
  std::string_view mode() const override { return "-"; }

  std::expected<std::unique_ptr<SubjectThread>, std::string> StartThread() override {
    if (unshare(CLONE_FS) != 0) return Failed("cannot give a thread a root of its own (unshare)");
    if (fchdir(root_.get()) != 0) return Failed("cannot enter the tmpfs (fchdir)");
    if (chroot(".") != 0) return Failed("cannot make the tmpfs the root (chroot)");
    return std::make_unique<KernelThread>();
  }

 private:
  OwnedFd root_;
};

}  // namespace

std::expected<std::unique_ptr<Subject>, std::string> MakeKernelSubject(const FileTree& tree) {
  std::expected<OwnedFd, std::string> root = DetachedTmpfs();
  if (!root) return std::unexpected(std::move(root.error()));
  if (Outcome made = MakeLocally(tree, root->get()); !made) {
    return std::unexpected(std::move(made.error()));
  }
  return std::make_unique<KernelSubject>(std::move(*root));
}

}  // namespace nfswalk::bench
