// Tests what `nfswalk cp` does to the local file system, while another process changes it.
#include "nfsclient/cli/copy/local_copy.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <linux/capability.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <fstream>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "nfsclient/cli/commands/commands.h"
#include "nfsclient/cli/copy/local_descriptor.h"
#include "tests/fixtures/memory_mount.h"

namespace nfswalk::cli {
namespace {

namespace fs = std::filesystem;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

// A call of this process that changes or flushes the file system, after its end; may set `result`
// and errno.
struct LocalCall {
  std::string text;  // "rename f", "fsync file", "fsync copy/sub"
  long* result;
};
std::function<void(const LocalCall&)> g_on_call;

long Observed(const std::string& text, long result) {
  if (g_on_call) g_on_call({text, &result});
  return result;
}

}  // namespace
}  // namespace nfswalk::cli

// These take the place of the C library's in this program.
extern "C" {
int mkdirat(int directory, const char* name, mode_t mode) noexcept {
  return static_cast<int>(nfswalk::cli::Observed(std::string("mkdir ") + name,
                                                 syscall(SYS_mkdirat, directory, name, mode)));
}
int symlinkat(const char* target, int directory, const char* name) noexcept {
  return static_cast<int>(
      nfswalk::cli::Observed("symlink", syscall(SYS_symlinkat, target, directory, name)));
}
int renameat(int from, const char* name, int to, const char* as) noexcept {
  return static_cast<int>(nfswalk::cli::Observed(std::string("rename ") + as,
                                                 syscall(SYS_renameat, from, name, to, as)));
}
int fsync(int fd) {
  const std::filesystem::path path =
      std::filesystem::read_symlink("/proc/self/fd/" + std::to_string(fd));
  const bool file = path.filename().string().starts_with(".nfswalk-");
  return static_cast<int>(nfswalk::cli::Observed(
      "fsync " + (file ? "file" : path.filename().string()), syscall(SYS_fsync, fd)));
}
}

namespace nfswalk::cli {
namespace {

// In its scope the calling thread may not pass over permission bits, whoever it is.
class OrdinaryUser {
 public:
  OrdinaryUser() {
    EXPECT_EQ(syscall(SYS_capget, &header_, all_), 0);
    __user_cap_data_struct reduced[2] = {all_[0], all_[1]};
    reduced[0].effective &= ~(1u << CAP_DAC_OVERRIDE | 1u << CAP_DAC_READ_SEARCH);
    EXPECT_EQ(syscall(SYS_capset, &header_, reduced), 0);
  }
  ~OrdinaryUser() { EXPECT_EQ(syscall(SYS_capset, &header_, all_), 0); }

 private:
  __user_cap_header_struct header_{_LINUX_CAPABILITY_VERSION_3, 0};
  __user_cap_data_struct all_[2]{};
};

class LocalCopyTest : public MemoryMount {
 protected:
  void SetUp() override {
    fs::remove_all(here_);
    fs::create_directory(here_);
    Mount();
  }
  void TearDown() override {
    g_on_call = nullptr;
    fs::remove_all(here_);
  }

  uint64_t AddFile(uint64_t directory, const std::string& name, uint32_t mode = 0640) {
    const uint64_t file = server_->Add(directory, name, FileType::kRegular);
    server_->Edit(file, [mode](Attributes& attributes) {
      attributes.mode = mode;
      attributes.size_bytes = 3;
    });
    return file;
  }
  uint64_t AddDirectory(uint64_t directory, const std::string& name) {
    const uint64_t made = server_->Add(directory, name, FileType::kDirectory);
    server_->Edit(made, [](Attributes& attributes) { attributes.mode = 0777; });
    return made;
  }

  // `nfswalk cp -rp --threads 1`, without -p unless `preserve`; returns the messages.
  std::string Copy(const std::string& from, const fs::path& to,
                   std::optional<ExitCode> expected = kExitOk, bool preserve = true) {
    const LocalDescriptor messages(memfd_create("messages", MFD_CLOEXEC));
    {
      Console console({.out_fd = messages.get(), .err_fd = messages.get()}, "cp");
      Session session(*client_, console, "cp", {});
      CpOptions options;
      options.recursive = true;
      options.preserve = preserve;
      options.tree.threads = 1;
      RunCommand(session, {from, to.string()}, options);
      if (expected.has_value()) {
        EXPECT_EQ(session.exit_code(), *expected);
      }
    }
    std::string text(lseek(messages.get(), 0, SEEK_END), '\0');
    EXPECT_EQ(pread(messages.get(), text.data(), text.size(), 0), std::ssize(text));
    return text;
  }
  // All that chmod(2), utimensat(2), a write or a new name would change.
  static std::string StateOf(const fs::path& directory) {
    std::string state;
    const auto add = [&](const fs::path& path) {
      struct stat found{};
      EXPECT_EQ(lstat(path.c_str(), &found), 0) << path;
      state += path.string() + " " + std::to_string(found.st_mode) + " " +
               std::to_string(found.st_ino) + " " + std::to_string(found.st_size) + " " +
               std::to_string(found.st_mtim.tv_sec) + "\n";
    };
    add(directory);
    if (!fs::is_directory(directory)) return state;
    for (const auto& entry : fs::recursive_directory_iterator(directory)) add(entry.path());
    return state;
  }

  const fs::path here_ = fs::path(testing::TempDir()) / "local_copy_test";
};

// At every step of a copy, replies of the server and calls of the local file system, in turn.
TEST_F(LocalCopyTest, ADirectoryReplacedByALinkLeadsNowhereElse) {
  const uint64_t sub = AddDirectory(AddDirectory(kRoot, "d"), "sub");
  AddFile(sub, "f");
  server_->Add(sub, "l", FileType::kSymlink, "f");
  const fs::path outside = here_ / "outside";
  for (const char* replaced : {"copy", "copy/sub"}) {
    int swaps = 0;
    for (int turn = 1, steps = turn; steps >= turn; ++turn) {
      SCOPED_TRACE(std::string(replaced) + " at step " + std::to_string(turn));
      fs::remove_all(here_);
      fs::create_directories(outside / "sub");
      std::ofstream(outside / "f") << "old";
      const std::string before = StateOf(outside);
      steps = 0;
      const auto step = [&] {
        if (++steps != turn || rename((here_ / replaced).c_str(), (here_ / "moved").c_str()) != 0) {
          return;
        }
        fs::create_directory_symlink(outside, here_ / replaced);
        ++swaps;
      };
      client_->DropCaches();
      on_reply_ = [&](const fixtures::Call&) { step(); };
      g_on_call = [&](const LocalCall&) { step(); };
      (void)Copy("d", here_ / "copy", std::nullopt);
      g_on_call = nullptr;
      on_reply_ = nullptr;
      EXPECT_EQ(StateOf(outside), before);
    }
    EXPECT_GT(swaps, 8) << replaced;
  }
}

// Between mkdirat(2) and openat(2), by another user who may write in the target.
TEST_F(LocalCopyTest, ADirectoryThatTookTheNameOfANewOneKeepsItsMode) {
  AddFile(AddDirectory(kRoot, "d"), "f");
  for (const bool preserve : {false, true}) {
    for (const bool is_anothers : {false, true}) {
      // Skips a case that -p cannot tell apart: network file systems may give the new directory
      // another owner, too.
      if (is_anothers && preserve) continue;
      SCOPED_TRACE(testing::Message() << is_anothers << " " << preserve);
      fs::remove_all(here_);
      fs::create_directory(here_);
      client_->DropCaches();
      const fs::path victim = here_ / "victim";
      fs::create_directory(victim);
      fs::permissions(victim, fs::perms::owner_all);
      if (is_anothers) {
        if (chown(victim.c_str(), 2001, 2001) != 0) continue;  // a sandbox has one user
      } else {
        std::ofstream(victim / "secret") << "old";
      }
      g_on_call = [&](const LocalCall& call) {
        if (call.text != "mkdir copy") return;
        fs::rename(here_ / "copy", here_ / "moved");
        fs::rename(victim, here_ / "copy");
      };
      EXPECT_EQ(Copy("d", here_ / "copy", kExitOk, preserve), "");
      g_on_call = nullptr;
      EXPECT_EQ(fs::status(here_ / "copy").permissions(), fs::perms::owner_all);
    }
  }
}

// By a group, or all, who may write in the new directory as in its source.
TEST_F(LocalCopyTest, FilesPlantedInANewDirectoryGiveNoRights) {
  const uint64_t top = AddDirectory(kRoot, "d");
  AddDirectory(top, "a");
  AddFile(AddDirectory(top, "b"), "key", 0600);
  AddFile(top, "key", 0600);
  const fs::path copy = here_ / "copy", a = copy / "a", b = copy / "b";
  const auto plant = [](const fs::path& key) {
    std::ofstream(key) << "old";
    fs::permissions(key, fs::perms{0666});
  };
  struct Case {
    const char* after;  // a call of this process
    std::function<void()> act;
    bool is_refused;    // copy/b, as another user's
  };
  bool has_users = false;  // a sandbox has one
  const auto give_away = [&](const fs::path& directory) {
    fs::permissions(directory, fs::perms::all);
    has_users = chown(directory.c_str(), 2001, 2001) == 0;
  };
  const std::vector<Case> cases = {
      {"mkdir copy", [&] { plant(copy / "key"); }, false},
      {"mkdir a", [&] { plant(copy / "key"); }, false},
      {"mkdir a",
       [&] {
         fs::create_directory(b);
         plant(b / "key");
         give_away(b);
       },
       true},
      {"mkdir b",
       [&] {
         fs::rename(b, copy / "moved");
         fs::create_directory(b);
         plant(b / "key");
         give_away(b);
       },
       true},
      // The copy's own, which another user may move.
      {"fsync a",
       [&] {
         plant(a / "key");
         fs::rename(a, b);
       },
       false},
  };
  for (size_t i = 0; i < cases.size(); ++i) {
    const Case& one = cases[i];
    SCOPED_TRACE(i);
    fs::remove_all(here_);
    fs::create_directory(here_);
    client_->DropCaches();
    has_users = false;
    bool acted = false;
    g_on_call = [&](const LocalCall& call) {
      if (acted || call.text != one.after) return;
      acted = true;
      one.act();
    };
    const std::string messages = Copy("d", copy, std::nullopt, false);
    g_on_call = nullptr;
    EXPECT_TRUE(acted);
    const bool is_refused = one.is_refused && has_users;
    EXPECT_EQ(messages.contains("replaced meanwhile"), is_refused) << messages;
    EXPECT_EQ(fs::status(copy / "key").permissions(), fs::perms{0600});
    EXPECT_EQ(fs::status(b / "key").permissions(), is_refused ? fs::perms{0666} : fs::perms{0600});
  }
}

// The user named the directory: what others put into it is not followed.
TEST_F(LocalCopyTest, ALinkInTheDirectoryThatWasNamedIsReplacedOrRefused) {
  AddFile(kRoot, "f");
  AddDirectory(kRoot, "d");
  const fs::path shared = here_ / "shared", outside = here_ / "outside";
  fs::create_directories(outside / "d");
  fs::create_directory(shared);
  std::ofstream(outside / "f") << "old";
  fs::create_symlink(outside / "f", shared / "f");
  fs::create_directory_symlink(outside / "d", shared / "d");
  const std::string before = StateOf(outside);
  EXPECT_EQ(Copy("f", shared), "");
  EXPECT_TRUE(fs::is_regular_file(fs::symlink_status(shared / "f")));
  EXPECT_THAT(Copy("d", shared, kExitPathFailed), HasSubstr("Not a directory"));
  EXPECT_EQ(StateOf(outside), before);
}

// Another file under the name of the unfinished link, as a hard link to another user's file would
// be.
TEST_F(LocalCopyTest, TheTimesOfALinkAreSetOnNothingElse) {
  server_->Add(kRoot, "l", FileType::kSymlink, "target");
  std::ofstream(here_ / "victim") << "old";
  fs::create_directory(here_ / "to");
  const std::string before = StateOf(here_ / "victim");
  g_on_call = [&](const LocalCall& call) {
    if (call.text != "symlink") return;
    for (const auto& entry : fs::directory_iterator(here_ / "to")) {
      fs::remove(entry.path());
      fs::create_hard_link(here_ / "victim", entry.path());
    }
  };
  EXPECT_THAT(Copy("l", here_ / "to" / "l", kExitPathFailed), HasSubstr("File exists"));
  EXPECT_EQ(StateOf(here_ / "victim"), before);
}

TEST_F(LocalCopyTest, DataIsDurableBeforeItsNameAndEachDirectoryOnceAfterItsLast) {
  const uint64_t sub = AddDirectory(AddDirectory(kRoot, "d"), "sub");
  AddFile(sub, "f");
  fs::create_directory(here_ / "into");
  std::vector<std::string> calls;
  g_on_call = [&](const LocalCall& call) { calls.push_back(call.text); };
  EXPECT_EQ(Copy("d", here_ / "copy"), "");
  EXPECT_THAT(calls, ElementsAre("mkdir copy", "mkdir sub", "fsync file", "rename f", "fsync sub",
                                 "fsync copy", "fsync local_copy_test"));
  calls.clear();
  EXPECT_EQ(Copy("d/sub/f", here_ / "into"), "");
  EXPECT_THAT(calls, ElementsAre("fsync file", "rename f", "fsync into"));
  calls.clear();
  EXPECT_EQ(Copy("d/sub/f", here_ / "g"), "");
  EXPECT_THAT(calls, ElementsAre("fsync file", "rename g", "fsync local_copy_test"));
}

TEST_F(LocalCopyTest, AnFsyncThatFailsIsAFailureOfItsFile) {
  AddFile(AddDirectory(kRoot, "d"), "f");
  for (const auto& [failing, named] : {std::pair{"fsync file", "copy/f'"},
                                       {"fsync copy", "copy'"},
                                       {"fsync local_copy_test", "copy'"}}) {
    fs::remove_all(here_ / "copy");
    for (const int error : {EIO, EINVAL}) {  // EINVAL: the file system has none
      g_on_call = [&](const LocalCall& call) {
        if (call.text != failing) return;
        *call.result = -1;
        errno = error;
      };
      const std::string messages =
          Copy("d", here_ / "copy", error == EIO ? kExitPathFailed : kExitOk);
      if (error == EIO) {
        EXPECT_THAT(messages, AllOf(HasSubstr(named), HasSubstr("Input/output error")));
        EXPECT_EQ(fs::exists(here_ / "copy" / "f"), std::string(failing) != "fsync file");
      } else {
        EXPECT_EQ(messages, "");
      }
    }
  }
}

TEST_F(LocalCopyTest, AFileGoesIntoADirectoryThatMayNotBeRead) {
  AddFile(kRoot, "f");
  fs::create_directory(here_ / "drop");
  ASSERT_EQ(chmod((here_ / "drop").c_str(), 0300), 0);
  {
    const OrdinaryUser user;
    ASSERT_LT(open((here_ / "drop").c_str(), O_RDONLY), 0);
    EXPECT_EQ(Copy("f", here_ / "drop"), "");
  }
  EXPECT_TRUE(fs::exists(here_ / "drop" / "f"));
}

TEST_F(LocalCopyTest, ATreeMayBeDeeperThanTheSoftLimitOfDescriptors) {
  rlimit old{};
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &old), 0);
  constexpr int kDepth = 150;
  uint64_t directory = kRoot;
  std::string deepest;
  for (int i = 0; i < kDepth; ++i, deepest += "/d") directory = AddDirectory(directory, "d");
  AddFile(directory, "f");
  const rlimit low{kDepth / 2, old.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &low), 0);
  EXPECT_EQ(Copy("d", here_ / "d"), "");
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &old), 0);
  EXPECT_TRUE(fs::exists(here_.string() + deepest + "/f"));
}

}  // namespace
}  // namespace nfswalk::cli
