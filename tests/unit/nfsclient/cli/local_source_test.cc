// `nfswalk cp -r` from this machine, from a tree in which another user exchanges files meanwhile, at
// each step from their lstat(2) on: after each call that looks at the tree. Nothing out of it is
// read.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstdarg>
#include <filesystem>
#include <fstream>
#include <functional>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "nfsclient/cli/commands/commands.h"
#include "nfsclient/cli/copy/local_descriptor.h"
#include "tests/fixtures/memory_mount.h"

namespace nfswalk::cli {
namespace {

namespace fs = std::filesystem;
using testing::Contains;
using testing::HasSubstr;
using testing::Not;

// Called after each call of this process that looks at a name.
std::function<void(std::string_view name)> g_on_look;
// Inodes that are not to be read, and whether one was.
std::set<ino_t> g_outside;
bool g_read_outside = false;
// Whether setrlimit(2) fails.
bool g_keeps_limits = false;

template <class Value>
Value Looked(const char* name, Value result) {
  // The attacker's own calls are no steps.
  if (const auto on_look = std::exchange(g_on_look, nullptr)) {
    const int error = errno;
    on_look(name);
    g_on_look = on_look;
    errno = error;
  }
  return result;
}

void NoteRead(int fd) {
  struct stat found{};
  if (!g_outside.empty() && fstat(fd, &found) == 0) {
    g_read_outside |= g_outside.contains(found.st_ino);
  }
}

}  // namespace
}  // namespace nfswalk::cli

// These take the place of the C library's in this program.
extern "C" {
int fstatat(int directory, const char* name, struct stat* found, int flags) noexcept {
  return nfswalk::cli::Looked(
      name, static_cast<int>(syscall(SYS_newfstatat, directory, name, found, flags)));
}
int openat(int directory, const char* name, int flags, ...) {
  va_list arguments;
  va_start(arguments, flags);
  const mode_t mode = (flags & (O_CREAT | __O_TMPFILE)) != 0 ? va_arg(arguments, mode_t) : 0;
  va_end(arguments);
  return nfswalk::cli::Looked(
      name, static_cast<int>(syscall(SYS_openat, directory, name, flags, mode)));
}
ssize_t readlinkat(int directory, const char* name, char* into, size_t size) noexcept {
  if (*name == 0) nfswalk::cli::NoteRead(directory);
  return nfswalk::cli::Looked(name, syscall(SYS_readlinkat, directory, name, into, size));
}
ssize_t pread(int fd, void* into, size_t size, off_t offset) {
  nfswalk::cli::NoteRead(fd);
  return syscall(SYS_pread64, fd, into, size, offset);
}
// The address sanitizer calls it before it can check an access.
__attribute__((no_sanitize("address"))) int setrlimit(__rlimit_resource_t resource,
                                                      const rlimit* limit) noexcept {
  if (nfswalk::cli::g_keeps_limits) return -1;
  return static_cast<int>(syscall(SYS_prlimit64, 0, resource, limit, nullptr));
}
}

namespace nfswalk::cli {
namespace {

class LocalSourceTest : public MemoryMount {
 protected:
  void SetUp() override { MakeTree(); }
  void TearDown() override {
    g_on_look = nullptr;
    g_outside.clear();
    fs::remove_all(here_);
  }

  // The tree is src/{a/f, mid/{y/{f, sub/f}, z, l}}. What is outside has the same names.
  void MakeTree() {
    NewServer();
    server_->Add(kRoot, "copies", FileType::kDirectory);
    Mount();
    g_outside.clear();
    fs::remove_all(here_);
    fs::create_directories(here_ / "aside");
    AddInner(here_ / "src/mid");
    AddFile("src/a/f");
    AddFile("src/mid/z");
    fs::create_symlink("z", here_ / "src/mid/l");
    for (const char* directory : {"victim", "victim/mid", "others/z", "others/src", "victim/l"}) {
      AddInner(here_ / directory);
      AddFile(std::string(directory) + "/z/secret");
    }
    fs::remove_all(here_ / "victim/z");
    fs::remove_all(here_ / "victim/mid/z");
    for (const char* file : {"victim/z", "victim/mid/z", "others/y"}) AddFile(file);
    ASSERT_EQ(mkfifo((here_ / "others/fifo").c_str(), 0600), 0);
    for (const char* outside : {"victim", "others"}) {
      for (const auto& entry : fs::recursive_directory_iterator(here_ / outside)) {
        struct stat found{};
        ASSERT_EQ(lstat(entry.path().c_str(), &found), 0);
        g_outside.insert(found.st_ino);
      }
    }
  }
  void AddFile(const std::string& path) {
    fs::create_directories((here_ / path).parent_path());
    std::ofstream(here_ / path) << path;
  }
  static void AddInner(const fs::path& directory) {
    fs::create_directories(directory / "y/sub");
    for (const char* file : {"y/f", "y/sub/f"}) std::ofstream(directory / file) << "inner";
  }

  void MoveIn(const std::string& from, const std::string& path) {
    fs::rename(here_ / path, here_ / "aside/moved");
    fs::rename(here_ / from, here_ / path);
  }
  void LinkTo(const std::string& target, const std::string& path) {
    fs::rename(here_ / path, here_ / "aside/moved");
    fs::create_symlink(here_ / target, here_ / path);
  }

  // `nfswalk cp -rp src URL copies/copy`; returns the messages.
  std::string Copy(unsigned threads = 1) {
    const LocalDescriptor messages(memfd_create("messages", MFD_CLOEXEC));
    {
      Console console({.out_fd = messages.get(), .err_fd = messages.get()}, "cp");
      Session session(*client_, console, "cp", {});
      RunCommand(session, {here_ / "src", "copies/copy"},
                 {.tree = {.threads = threads},
                  .recursive = true,
                  .preserve = true,
                  .from_here = true,
                  .to = {}});
      exit_code_ = session.exit_code();
    }
    std::string text(static_cast<size_t>(lseek(messages.get(), 0, SEEK_END)), '\0');
    EXPECT_EQ(pread(messages.get(), text.data(), text.size(), 0), std::ssize(text));
    return text;
  }

  const fs::path here_ = fs::path(testing::TempDir()) / "local_source_test";
  ExitCode exit_code_{};
};

TEST_F(LocalSourceTest, NothingOutsideIsReadWhateverIsExchanged) {
  const struct {
    std::string name;  // of what is exchanged
    const char* kind;
    std::function<void()> exchange;
  } exchanges[] = {
      {"y", "directory for link", [&] { LinkTo("victim/y", "src/mid/y"); }},
      {"y", "directory for directory", [&] { MoveIn("victim/y", "src/mid/y"); }},
      {"y", "directory for file", [&] { MoveIn("others/y", "src/mid/y"); }},
      {"mid", "middle for link", [&] { LinkTo("victim/mid", "src/mid"); }},
      {"mid", "middle for directory", [&] { MoveIn("victim/mid", "src/mid"); }},
      {"z", "file for link", [&] { LinkTo("victim/z", "src/mid/z"); }},
      {"z", "file for file", [&] { MoveIn("victim/z", "src/mid/z"); }},
      {"z", "file for directory", [&] { MoveIn("others/z", "src/mid/z"); }},
      {"z", "file for fifo", [&] { MoveIn("others/fifo", "src/mid/z"); }},
      {"l", "link for directory", [&] { MoveIn("victim/l", "src/mid/l"); }},
      {"src", "start for link", [&] { LinkTo("victim", "src"); }},
      {"src", "start for directory", [&] { MoveIn("others/src", "src"); }},
  };
  int turns = 0;
  for (const auto& [name, kind, exchange] : exchanges) {
    int noticed = 0, turn = 1;
    for (bool exchanged = true; exchanged; ++turn) {
      SCOPED_TRACE(std::string(kind) + " after step " + std::to_string(turn));
      MakeTree();
      exchanged = g_read_outside = false;
      int steps = 0;
      g_on_look = [&](std::string_view path) {
        if (steps == 0 && path.substr(path.rfind('/') + 1) != name) return;
        if (++steps != turn) return;
        exchanged = true;
        exchange();
      };
      const std::string messages = Copy();
      g_on_look = nullptr;
      EXPECT_FALSE(g_read_outside);
      for (const fixtures::LoggedCall& call : protocol_->TakeLog()) {
        EXPECT_THAT(call.names, Not(Contains("secret")));
      }
      EXPECT_EQ(exit_code_, messages.empty() ? kExitOk : kExitPathFailed);
      noticed += messages.find("replaced meanwhile") != std::string::npos ? 1 : 0;
    }
    turns += turn;
    EXPECT_GT(noticed, 0) << kind;
  }
  EXPECT_GT(turns, 100);
}

TEST_F(LocalSourceTest, TheModeIsThatOfTheFileThatWasOpened) {
  const fs::path file = here_ / "src/mid/z";
  fs::permissions(file, fs::perms(0644));
  // Its owner takes the rights of others away before it is read.
  g_on_look = [&](std::string_view name) {
    if (name.ends_with("z")) fs::permissions(file, fs::perms(0600));
  };
  EXPECT_EQ(Copy(), "");
  g_on_look = nullptr;
  const auto copied = client_->Stat("copies/copy/mid/z", me_);
  ASSERT_TRUE(copied);
  EXPECT_EQ(copied->mode, 0600u);
}

// In its scope the process may have a hundred descriptors, and cannot have more.
class DescriptorShortage {
 public:
  DescriptorShortage() {
    EXPECT_EQ(getrlimit(RLIMIT_NOFILE, &old_), 0);
    const rlimit low{100, old_.rlim_max};
    EXPECT_EQ(setrlimit(RLIMIT_NOFILE, &low), 0);
    g_keeps_limits = true;
  }
  ~DescriptorShortage() {
    g_keeps_limits = false;
    EXPECT_EQ(setrlimit(RLIMIT_NOFILE, &old_), 0);
  }

 private:
  rlimit old_{};
};

// The files that wait to be copied hold their directories.
TEST_F(LocalSourceTest, ATreeMayHaveMoreDirectoriesThanThereAreDescriptors) {
  for (int i = 0; i < 300; ++i) AddFile("src/wide/" + std::to_string(i) + "/f");
  const DescriptorShortage shortage;
  EXPECT_EQ(Copy(/*threads=*/2), "");
}

TEST_F(LocalSourceTest, ATreeThatIsDeeperThanThereAreDescriptorsIsAFailureAndTheRestIsCopied) {
  std::string deep = "src/deep";
  for (int i = 0; i < 120; ++i) deep += "/d";
  AddFile(deep + "/f");
  {
    const DescriptorShortage shortage;
    EXPECT_THAT(Copy(), HasSubstr("Too many open files (each level of a tree"));
  }
  EXPECT_TRUE(client_->Stat("copies/copy/mid/z", me_));
}

}  // namespace
}  // namespace nfswalk::cli
