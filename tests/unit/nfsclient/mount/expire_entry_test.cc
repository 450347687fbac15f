// A kernel before Linux 6.2, which cannot expire names: what it does instead keeps nothing visible
// that has changed, and takes nothing away that has not.
#include <dirent.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <functional>
#include <string>
#include <system_error>
#include <vector>

#include "nfsclient/mount/fuse.h"
#include "nfsclient/mount/session.h"
#include "tests/fixtures/served_mount.h"

namespace {

std::atomic<int> expiries{0};

}  // namespace

// In the place of libfuse's, which this kernel would serve.
#if FUSE_VERSION < FUSE_MAKE_VERSION(3, 16)
extern "C" int fuse_lowlevel_notify_expire_entry(fuse_session* session, fuse_ino_t parent,
                                                 const char* name, size_t size,
                                                 fuse_expire_flags flags) {
  if (flags == FUSE_LL_EXPIRE_ONLY) {
    ++expiries;
    return -ENOSYS;
  }
  static const auto notify = reinterpret_cast<decltype(&fuse_lowlevel_notify_expire_entry)>(
      dlsym(RTLD_NEXT, "fuse_lowlevel_notify_expire_entry"));
  return notify(session, parent, name, size, flags);
}
#else
extern "C" int fuse_lowlevel_notify_expire_entry(fuse_session*, fuse_ino_t, const char*, size_t) {
  ++expiries;
  return -ENOSYS;
}
#endif

namespace nfswalk::mount {
namespace {

class ExpireEntryTest : public ServedMount {
 protected:
  void SetUp() override {
    server_->Add(kRoot, "sub", FileType::kDirectory);
    server_->Add(kRoot, "other", FileType::kDirectory);
    ServedMount::SetUp();
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
};

TEST_F(ExpireEntryTest, AKernelThatCannotExpireNamesDropsThoseThatChanged) {
  Served([this] { ExpectWhatIsThere(); });
}

// Which name of a refused rename is wrong is not known, and both are asked for. What is mounted below
// a directory that is there goes only with that.
TEST_F(ExpireEntryTest, ARefusedRenameOfADirectoryKeepsTheMountsBelow) {
  const uint64_t tree = server_->Add(kRoot, "tree", FileType::kDirectory);
  server_->Add(tree, "m", FileType::kDirectory);
  Served([this] {
    EXPECT_EQ(TypeOf("x"), 0U);
    EXPECT_EQ(TypeOf("tree/m"), static_cast<mode_t>(S_IFDIR));
    const std::string below = directory_ + "/tree/m";
    ASSERT_EQ(::mount("none", below.c_str(), "tmpfs", 0, ""), 0) << errno;
    std::ofstream(below + "/in");
    protocol_->FailOnce("RENAME", std::errc::invalid_argument);
    EXPECT_EQ(rename((directory_ + "/tree").c_str(), (directory_ + "/x").c_str()), -1);
    client_->AwaitInvalidations();
    EXPECT_EQ(TypeOf("tree/m/in"), static_cast<mode_t>(S_IFREG));
    umount2(below.c_str(), MNT_DETACH);
  });
}

// Each time another client makes what the kernel knows to be absent.
TEST_F(ExpireEntryTest, EachContradictionOfANameIsLookedUp) {
  server_->Add(kRoot, "target", FileType::kRegular);
  Served([this] {
    for (int round = 0; round < 4; ++round) {
      EXPECT_EQ(TypeOf("s"), 0U);
      server_->Add(kRoot, "s", FileType::kSymlink, "target");
      const int fd = open((directory_ + "/s").c_str(), O_CREAT | O_RDONLY | O_CLOEXEC, 0600);
      EXPECT_GE(fd, 0) << errno << " in round " << round;
      close(fd);
      server_->Take(kRoot, "s");
      Tell();
    }
  });
}

// bind(2) of a socket makes a name as mknod(2) does, but does not come back after ESTALE.
TEST_F(ExpireEntryTest, BindFindsANameOfAnotherInUse) {
  Served([this] {
    EXPECT_EQ(TypeOf("s"), 0U);
    server_->Add(kRoot, "s", FileType::kRegular);
    sockaddr_un at{.sun_family = AF_UNIX, .sun_path = {}};
    const std::string path = directory_ + "/s";
    ASSERT_LT(path.size(), sizeof(at.sun_path));
    std::ranges::copy(path, at.sun_path);
    const int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    EXPECT_EQ(bind(fd, reinterpret_cast<const sockaddr*>(&at), sizeof(at)), -1);
    EXPECT_EQ(errno, EADDRINUSE);
    close(fd);
  });
}

// The flags by which `nfswalk stats` opens a directory are legal for everybody.
TEST_F(ExpireEntryTest, ADirectoryThatIsOpenForAppendingIsListed) {
  server_->Add(kRoot, "f", FileType::kRegular);
  Served([this] {
    const int fd = open(directory_.c_str(), O_RDONLY | O_DIRECTORY | O_APPEND | O_CLOEXEC);
    DIR* const directory = fdopendir(fd);
    ASSERT_NE(directory, nullptr);
    std::vector<std::string> names;
    while (const dirent* entry = readdir(directory)) names.emplace_back(entry->d_name);
    std::ranges::sort(names);
    EXPECT_EQ(names, (std::vector<std::string>{".", "..", "f", "other", "sub"}));
    closedir(directory);
  });
}

// Another user owns the directory above, and puts a link to another mount in its place.
TEST_F(ExpireEntryTest, TheEndUnmountsNothingThatTheNameLeadsToByThen) {
  const std::string moved = directory_ + ".moved", other = directory_ + ".other";
  for (const std::string& below : {directory_ + "/point", other + "/point"}) {
    std::filesystem::create_directories(below);
  }
  ASSERT_EQ(::mount("none", (other + "/point").c_str(), "tmpfs", 0, ""), 0) << errno;
  const auto served = Serve(*client_, options_, {directory_ + "/point", {}}, [&] {
    std::filesystem::rename(directory_, moved);
    std::filesystem::create_directory_symlink(other, directory_);
    kill(getpid(), SIGTERM);
  });
  EXPECT_TRUE(served.has_value()) << (served ? "" : served.error());
  EXPECT_EQ(umount2((other + "/point").c_str(), 0), 0) << "the other mount is gone";
  EXPECT_NE(umount2((moved + "/point").c_str(), MNT_DETACH), 0) << "still mounted";
  std::filesystem::remove(directory_);
  std::filesystem::remove_all(other);
  std::filesystem::remove(moved + "/point");
  std::filesystem::rename(moved, directory_);
}

// The kernel gives the device number of what was unmounted to what is mounted next.
TEST_F(ExpireEntryTest, TheEndUnmountsNothingOfOthers) {
  const auto served = Serve(*client_, options_, {directory_, {}}, [this] {
    EXPECT_EQ(umount2(directory_.c_str(), 0), 0);
    EXPECT_EQ(::mount("none", directory_.c_str(), "tmpfs", 0, ""), 0) << errno;
  });
  EXPECT_TRUE(served.has_value()) << (served ? "" : served.error());
  EXPECT_EQ(umount2(directory_.c_str(), MNT_DETACH), 0) << "the other mount is gone";
}

}  // namespace
}  // namespace nfswalk::mount
