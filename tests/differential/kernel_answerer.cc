// kernel_answerer ROOT UID GID [GROUP...]: changes root and credential for good, then reads
// PathQuestions from standard input and writes PathAnswers to standard output until end of file.

#include <fcntl.h>
#include <grp.h>
#include <linux/openat2.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "tests/differential/path_answers.h"

namespace nfswalk::differential {
namespace {

int ErrorOf(long result) { return result < 0 ? errno : 0; }

// Returns what `call`, a system call that walks a path, does, called again after ELOOP: a mount
// anywhere in the system lets the kernel begin a walk anew, and fs/namei.c counts the links that it
// had followed a second time. A loop is one each time.
template <class Call>
auto Walked(const Call& call) {
  constexpr int kAttempts = 16;
  auto result = call();
  for (int i = 1; i < kAttempts && result < 0 && errno == ELOOP; ++i) result = call();
  return result;
}

protocol::Time TimeOf(const timespec& time) {
  return {time.tv_sec, static_cast<uint32_t>(time.tv_nsec)};
}

StatAnswer AnswerOf(int error, const struct stat& found) {
  StatAnswer answer{error, {}};
  if (error != 0) return answer;
  protocol::Attributes& attributes = answer.attributes;
  attributes.type = static_cast<protocol::FileType>((found.st_mode & S_IFMT) >> 12);
  attributes.mode = found.st_mode & 07777;
  attributes.nlink = static_cast<uint32_t>(found.st_nlink);
  attributes.uid = found.st_uid;
  attributes.gid = found.st_gid;
  attributes.size_bytes = static_cast<uint64_t>(found.st_size);
  attributes.used_bytes = static_cast<uint64_t>(found.st_blocks) * 512;
  attributes.rdev_major = major(found.st_rdev);
  attributes.rdev_minor = minor(found.st_rdev);
  attributes.fileid = found.st_ino;
  attributes.atime = TimeOf(found.st_atim);
  attributes.mtime = TimeOf(found.st_mtim);
  attributes.ctime = TimeOf(found.st_ctim);
  return answer;
}

// Calls the kernel directly: faccessat() of some C libraries emulates flags.
int AccessError(int directory, const char* path, size_t mode, int flags) {
  return ErrorOf(Walked([&] {
    return syscall(SYS_faccessat2, directory, path, static_cast<int>(mode), flags | AT_EACCESS);
  }));
}

void ReadLinkAt(int directory, const char* path, LinkAnswer& answer) {
  const ssize_t count =
      Walked([&] { return readlinkat(directory, path, answer.text.data(), answer.text.size()); });
  answer.error = ErrorOf(count);
  if (count > 0) answer.size_bytes = static_cast<uint32_t>(count);
}

void AnswerPlain(const char* path, PathAnswers& answers) {
  for (size_t itself : {0, 1}) {
    const int flags = itself != 0 ? AT_SYMLINK_NOFOLLOW : 0;
    struct stat found {};
    const int result = Walked([&] { return fstatat(AT_FDCWD, path, &found, flags); });
    answers.stat[itself] = AnswerOf(ErrorOf(result), found);
    for (size_t mode = 0; mode < kAccessModes; ++mode) {
      answers.access[itself][mode] = AccessError(AT_FDCWD, path, mode, flags);
    }
  }
  ReadLinkAt(AT_FDCWD, path, answers.link);
}

// Only openat2() takes RESOLVE_*; the other calls use the descriptor that it opened. EAGAIN: a
// rename or mount anywhere in the system while `..` was resolved (openat2(2)); repeated.
int OpenScoped(int root, const PathQuestion& question, bool itself) {
  open_how how{};
  how.flags = static_cast<uint64_t>(O_PATH | O_CLOEXEC | (itself ? O_NOFOLLOW : 0));
  how.resolve = (question.no_symlinks ? RESOLVE_NO_SYMLINKS : 0u) |
                (question.beneath ? RESOLVE_BENEATH : 0u) |
                (question.in_root ? RESOLVE_IN_ROOT : 0u);
  long opened;
  do {
    opened =
        Walked([&] { return syscall(SYS_openat2, root, question.path.data(), &how, sizeof how); });
  } while (opened < 0 && errno == EAGAIN);
  return static_cast<int>(opened);
}

void AnswerScoped(int root, const PathQuestion& question, PathAnswers& answers) {
  for (size_t itself : {0, 1}) {
    const int opened = OpenScoped(root, question, itself != 0);
    const int error = ErrorOf(opened);
    struct stat found {};
    if (error == 0 && fstat(opened, &found) != 0) std::abort();
    answers.stat[itself] = AnswerOf(error, found);
    for (size_t mode = 0; mode < kAccessModes; ++mode) {
      answers.access[itself][mode] =
          error != 0 ? error : AccessError(opened, "", mode, AT_EMPTY_PATH);
    }
    if (itself != 0) {
      answers.link.error = error;
      // With an empty path on an open file that is no link, readlinkat() gives ENOENT for the empty
      // path.
      if (error == 0 && !S_ISLNK(found.st_mode)) {
        answers.link.error = EINVAL;
      } else if (error == 0) {
        ReadLinkAt(opened, "", answers.link);
      }
    }
    if (opened >= 0) close(opened);
  }
}

bool Become(char** arguments, int count) {
  const auto number = [&](int i) {
    return static_cast<uint32_t>(std::strtoul(arguments[i], nullptr, 10));
  };
  std::vector<gid_t> groups;
  for (int i = 4; i < count; ++i) groups.push_back(number(i));
  const uint32_t uid = number(2), gid = number(3);
  return chroot(arguments[1]) == 0 && chdir("/") == 0 &&
         setgroups(groups.size(), groups.data()) == 0 && setresgid(gid, gid, gid) == 0 &&
         setresuid(uid, uid, uid) == 0;
}

int Serve(int count, char** arguments) {
  if (count < 4 || !Become(arguments, count)) {
    std::perror("kernel_answerer");
    return 1;
  }
  const int root = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
  PathQuestion question;
  while (ReadWhole(STDIN_FILENO, question)) {
    PathAnswers answers;
    if (question.scoped()) {
      AnswerScoped(root, question, answers);
    } else {
      AnswerPlain(question.path.data(), answers);
    }
    if (!WriteWhole(STDOUT_FILENO, answers)) break;
  }
  return 0;
}

}  // namespace
}  // namespace nfswalk::differential

int main(int count, char** arguments) {
  // Skips exit handlers: a leak check would need /proc, which is outside of the root.
  _exit(nfswalk::differential::Serve(count, arguments));
}
