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

}  // namespace
}  // namespace nfswalk::mount
