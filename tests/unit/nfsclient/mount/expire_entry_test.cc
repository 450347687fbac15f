// A kernel before Linux 6.2, which cannot expire names: what it does instead keeps nothing visible
// that has changed, and takes nothing away that has not.
#include <dlfcn.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <system_error>

#include "nfsclient/mount/session.h"
#include "tests/fixtures/memory_mount.h"

namespace {

std::atomic<int> expiries{0};

}  // namespace

// In the place of libfuse's, which this kernel would serve.
extern "C" int fuse_lowlevel_notify_expire_entry(void* session, uint64_t parent, const char* name,
                                                 size_t size, int flags) {
  if (flags != 0) {
    ++expiries;
    return -ENOSYS;
  }
  using Notify = int (*)(void*, uint64_t, const char*, size_t, int);
  static const auto notify =
      reinterpret_cast<Notify>(dlsym(RTLD_NEXT, "fuse_lowlevel_notify_expire_entry"));
  return notify(session, parent, name, size, flags);
}

namespace nfswalk::mount {
namespace {

class ExpireEntryTest : public MemoryMount {
 protected:
  static void SetUpTestSuite() { BlockEndingSignals(); }  // before any thread begins
  void SetUp() override {
    if (geteuid() != 0) GTEST_SKIP() << "mounts by itself: needs root";
    if (access("/dev/fuse", R_OK | W_OK) != 0) GTEST_SKIP() << "no /dev/fuse";
    char pattern[] = "/tmp/nfswalk_expire_XXXXXX";
    ASSERT_NE(mkdtemp(pattern), nullptr);
    directory_ = pattern;
    server_->Add(kRoot, "sub", FileType::kDirectory);
    server_->Add(kRoot, "other", FileType::kDirectory);
    Mount();
  }
  void TearDown() override {
    if (directory_.empty()) return;
    EXPECT_NE(umount2(directory_.c_str(), MNT_DETACH), 0) << "still mounted";
    EXPECT_TRUE(std::filesystem::remove(directory_));
  }

  // The type of a file of the mount, 0 without one.
  mode_t TypeOf(const std::string& name) const {
    struct stat found{};
    return lstat((directory_ + "/" + name).c_str(), &found) == 0 ? found.st_mode & S_IFMT : 0;
  }
  // The kernel is told what another client did in the root.
  void Tell() const {
    Notice("/");
    client_->AwaitInvalidations();
  }

  void ExpectWhatIsThere() {
    EXPECT_EQ(TypeOf("x"), 0U);
    EXPECT_EQ(TypeOf("x"), 0U);
    EXPECT_EQ(TypeOf("sub"), static_cast<mode_t>(S_IFDIR));
    EXPECT_EQ(TypeOf("other"), static_cast<mode_t>(S_IFDIR));
    const int held = open((directory_ + "/sub").c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC);
    ASSERT_GE(held, 0);
    server_->Add(kRoot, "x", FileType::kRegular);
    server_->Take(kRoot, "other");
    server_->Add(kRoot, "other", FileType::kRegular);
    Tell();
    EXPECT_EQ(TypeOf("x"), static_cast<mode_t>(S_IFREG));
    EXPECT_EQ(TypeOf("other"), static_cast<mode_t>(S_IFREG));
    std::error_code error;
    EXPECT_EQ(std::filesystem::read_symlink("/proc/self/fd/" + std::to_string(held), error).string(),
              directory_ + "/sub")
        << "not (deleted), as getcwd(3) would fail";
    close(held);
    server_->Take(kRoot, "sub");
    Tell();
    EXPECT_EQ(TypeOf("sub"), 0U);
    EXPECT_EQ(expiries, 1) << "decided once";
  }

  std::string directory_;
};

TEST_F(ExpireEntryTest, AKernelThatCannotExpireNamesDropsThoseThatChanged) {
  const auto served = Serve(*client_, options_, {directory_, {}}, [this] {
    ExpectWhatIsThere();
    EXPECT_EQ(umount2(directory_.c_str(), MNT_DETACH), 0);
  });
  EXPECT_TRUE(served.has_value()) << (served ? "" : served.error());
}

}  // namespace
}  // namespace nfswalk::mount
