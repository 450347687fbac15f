// Every system call that makes, moves or removes a name, done and refused: for the sanitizers, which
// do not see the mount that is a process of its own.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <functional>
#include <string>
#include <vector>

#include "tests/fixtures/served_mount.h"

namespace nfswalk::mount {
namespace {

class NameCallsTest : public ServedMount {
 protected:
  std::string At(const std::string& name) const { return directory_ + "/" + name; }

  static int Closed(int fd) { return fd < 0 ? -1 : close(fd); }
  static int Bind(const std::string& path) {
    sockaddr_un at{.sun_family = AF_UNIX, .sun_path = {}};
    std::ranges::copy(path, at.sun_path);
    const int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    const int result = bind(fd, reinterpret_cast<const sockaddr*>(&at), sizeof(at));
    const int error = errno;
    close(fd);
    errno = error;
    return result;
  }
};

struct Call {
  const char* name;
  int again;  // errno of the same call once more
  std::function<int()> call;
};

TEST_F(NameCallsTest, AreDoneOnceAndRefusedTheSecondTime) {
  server_->Add(kRoot, "file", FileType::kRegular);
  Served([this] {
    const std::vector<Call> calls = {
        {"mkdir", EEXIST, [&] { return mkdir(At("d").c_str(), 0755); }},
        {"symlink", EEXIST, [&] { return symlink("target", At("s").c_str()); }},
        {"mknod", EEXIST, [&] { return mknod(At("p").c_str(), S_IFIFO | 0600, 0); }},
        {"mknod of a file", EEXIST, [&] { return mknod(At("r").c_str(), S_IFREG | 0600, 0); }},
        {"bind", EADDRINUSE, [&] { return Bind(At("b")); }},
        {"link", EEXIST, [&] { return link(At("file").c_str(), At("l").c_str()); }},
        {"open", EEXIST,
         [&] { return Closed(open(At("o").c_str(), O_CREAT | O_EXCL | O_RDWR | O_CLOEXEC, 0600)); }},
        {"rename", ENOENT, [&] { return rename(At("o").c_str(), At("moved").c_str()); }},
        {"unlink", ENOENT, [&] { return unlink(At("l").c_str()); }},
        {"rmdir", ENOENT, [&] { return rmdir(At("d").c_str()); }},
    };
    for (const auto& [name, again, call] : calls) {
      EXPECT_EQ(call(), 0) << name << ": errno " << errno;
      EXPECT_EQ(call(), -1) << name;
      EXPECT_EQ(errno, again) << name;
    }
    // What another client has made or taken since the kernel looked: looked up again.
    server_->Add(kRoot, "late", FileType::kDirectory);
    EXPECT_EQ(mkdir(At("late").c_str(), 0755), -1);
    EXPECT_EQ(errno, EEXIST);
    EXPECT_EQ(rmdir(At("late").c_str()), 0) << errno;
  });
}

// Another client has changed both names of a rename: the client knows so of one, the kernel of
// neither. The VFS comes back once.
TEST_F(NameCallsTest, ARenameOfTwoChangedNamesIsAskedForOnce) {
  const uint64_t one = server_->Add(kRoot, "one", FileType::kDirectory);
  const uint64_t two = server_->Add(kRoot, "two", FileType::kDirectory);
  server_->Add(one, "from", FileType::kRegular);
  Served([&] {
    EXPECT_EQ(TypeOf("one/from"), static_cast<mode_t>(S_IFREG));
    EXPECT_EQ(TypeOf("two/to"), 0U);
    server_->Take(one, "from");
    server_->Add(one, "from", FileType::kRegular);
    server_->Add(two, "to", FileType::kDirectory);
    const StopAt notifications("kernel-caches:before-deliver");
    Notice("/one");
    EXPECT_EQ(rename(At("one/from").c_str(), At("two/to").c_str()), -1);
    EXPECT_EQ(errno, EISDIR);
  });
}

// Another client has put a file in the place of a directory, and replaces that again and again: the
// LOOKUP of the VFS's second walk opens what it finds.
TEST_F(NameCallsTest, AFileInThePlaceOfADirectoryIsOpened) {
  server_->Add(kRoot, "d", FileType::kDirectory);
  const auto replace = [this] {
    server_->Destroy(kRoot, "d");
    server_->Add(kRoot, "d", FileType::kRegular);
  };
  std::atomic<int> replacements{0};
  on_reply_ = [&](const fixtures::Call& call) {
    if (call.procedure != "LOOKUP" || call.name() != "d" || replacements == 0) return;
    --replacements;
    replace();
  };
  Served([&] {
    EXPECT_EQ(TypeOf("d"), static_cast<mode_t>(S_IFDIR));
    replace();
    replacements = 3;  // more than the LOOKUPs of one walk
    EXPECT_EQ(Closed(open(At("d").c_str(), O_RDONLY | O_CLOEXEC)), 0) << errno;
    EXPECT_EQ(replacements, 0);
  });
  on_reply_ = {};
}

}  // namespace
}  // namespace nfswalk::mount
