#include "bench/make_replay/kernel_subject.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <utility>

namespace nfswalk::bench {

namespace {

class KernelWorker final : public Worker {
 public:
  Answer Ask(const ReplayCall& call) override {
    const Call& recorded = *call.recorded;
    const char* path = call.path->c_str();
    const int flags = recorded.no_follow ? AT_SYMLINK_NOFOLLOW : 0;
    switch (recorded.kind) {
      case CallKind::kStat: return Stat(path, flags);
      case CallKind::kAccess:
        return {.error = faccessat(AT_FDCWD, path, recorded.access_mode, flags) == 0 ? 0 : errno};
      case CallKind::kReadLink: {
        ssize_t count = readlink(path, text_.data(), text_.size());
        if (count < 0) return {.error = errno};
        return {.link_text = {text_.data(), static_cast<size_t>(count)}};
      }
      case CallKind::kOpen: {
        Answer answer = Stat(path, flags);
        if (answer.error != 0) return answer;
        if (recorded.directory && !S_ISDIR(answer.mode)) return {.error = ENOTDIR};
        if (faccessat(AT_FDCWD, path, recorded.access_mode, flags) != 0) answer.error = errno;
        return answer;
      }
      case CallKind::kReadDir: {
        int directory = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        if (directory < 0) return {.error = errno};
        close(directory);
        return {};
      }
    }
    return {.error = EINVAL};
  }

 private:
  static Answer Stat(const char* path, int flags) {
    struct stat status;
    if (fstatat(AT_FDCWD, path, &status, flags) != 0) return {.error = errno};
    return {.mode = status.st_mode, .size = static_cast<uint64_t>(status.st_size)};
  }

  std::array<char, 4096> text_;
};

class KernelSubject final : public Subject {
 public:
  explicit KernelSubject(std::string directory) : directory_(std::move(directory)) {}

  std::string name() const override { return "kernel, tmpfs"; }
  std::string mode() const override { return ""; }

  std::expected<std::unique_ptr<Worker>, std::string> MakeWorker() override {
    // A root directory of this thread's own.
    if (unshare(CLONE_FS) != 0 || chroot(directory_.c_str()) != 0 || chdir("/") != 0) {
      return std::unexpected(fmt::format("chroot to {}: {}", directory_, std::strerror(errno)));
    }
    return std::make_unique<KernelWorker>();
  }

 private:
  const std::string directory_;
};

}  // namespace

std::expected<std::string, std::string> MountPrivateTmpfs() {
  constexpr const char* kPlace = "/mnt";
  if (unshare(CLONE_NEWNS) != 0 || mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0 ||
      mount("tmpfs", kPlace, "tmpfs", 0, "mode=0755") != 0) {
    return std::unexpected(
        fmt::format("a private tmpfs on {}: {}; run as root", kPlace, std::strerror(errno)));
  }
  return kPlace;
}

std::unique_ptr<Subject> MakeKernelSubject(std::string directory) {
  return std::make_unique<KernelSubject>(std::move(directory));
}

}  // namespace nfswalk::bench
