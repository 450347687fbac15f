// mount_run: `nfswalk mount` of a real nfs-ganesha, and system calls of several users and processes
// on it.
#ifndef NFSWALK_TESTS_INTEGRATION_MOUNT_RUN_H_
#define NFSWALK_TESTS_INTEGRATION_MOUNT_RUN_H_

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/types.h>

#include <csignal>
#include <functional>
#include <string>
#include <vector>

#include "tests/integration/command_run.h"

namespace nfswalk {

// The errno of a system call that returned `result`, 0 if it did not fail.
int ErrorOf(long result);
// open(2), closed again.
int OpenError(const std::string& path, int flags, mode_t mode = 0644);
// Returns all bytes of a file; "errno N" if it cannot be read.
std::string TextOf(const std::string& path);
// Writes a file anew. Returns the errno.
int WriteText(const std::string& path, const std::string& text);
// lstat(2).
struct stat StatOf(const std::string& path);

// Looks again and again, for as long as a test may take: false if it never holds.
bool Eventually(const std::function<bool()>& condition);

// A child of this process, in which `run` returns the exit code.
class Child {
 public:
  explicit Child(const std::function<int()>& run);
  // Kills it, if it has not been waited for.
  ~Child();
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;
  pid_t pid() const { return pid_; }
  // Returns the exit code, or minus the signal that ended it. Expects that it ends.
  int Wait();
  // It waits in the kernel for an answer of the file system.
  bool IsInFuse() const;

 private:
  pid_t pid_;
};

// Runs `run` in a process of this user; returns its exit code.
int As(uid_t uid, gid_t gid, const std::vector<gid_t>& groups, const std::function<int()>& run);

// Each test has a mount of its own, in the foreground, of an empty export.
class MountRun : public CommandRun {
 protected:
  void SetUp() override;
  void TearDown() override;

  // Mounts with these options, those of -o, and returns once it is mounted. `below`: a directory of
  // the export instead of its root, as in a URL.
  void Mount(const std::string& options = "", const std::string& below = "");
  // Mounts a server of the test with these options, and returns once it is mounted.
  void MountUrl(const std::string& url, const std::string& options);
  // Starts it, and returns at once.
  void SpawnMount(Strings arguments);
  // Returns the exit code of the mount once it ends by itself.
  int WaitForMount();
  // fusermount3 -u; returns the exit code of the mount.
  int Unmount();
  // Kills the process of the mount, which stays mounted.
  void KillMount();
  bool IsMounted() const { return !MountLine().empty(); }
  // Returns the mount's line of /proc/self/mountinfo; "" if it is not mounted.
  std::string MountLine() const;

  std::string At(const std::string& name) const { return mount_point_ + "/" + name; }
  const std::string& mount_point() const { return mount_point_; }
  pid_t mount_pid() const { return mount_; }
  // Returns a count of `nfswalk stats`.
  uint64_t Counted(const char* metric, const char* label) const {
    return CountedOf(mount_point_, metric, label);
  }
  static uint64_t CountedOf(const std::string& mount_point, const char* metric, const char* label) {
    const ProgramRun run = Run({"stats", "--json", mount_point});
    EXPECT_EQ(run.exit_code, 0) << run.err;
    return Objects(run).at(0).at(metric).value(label, uint64_t{0});
  }
  // Lets a child that has stopped go on, and returns once the mount has received a request of it,
  // its next of this opcode. One that the kernel has queued, and not handed out, leaves no trace
  // where it is aborted.
  static void ContinueInto(const Child& child, const std::string& mount_point, const char* opcode) {
    const auto received = [&] { return CountedOf(mount_point, "fuse_requests_total", opcode); };
    const uint64_t before = received();
    kill(child.pid(), SIGCONT);
    EXPECT_TRUE(Eventually([&] { return received() > before; }));
  }
  // Returns what the mount has written to standard error.
  std::string Messages() const { return Contents(messages_.fd); }

 private:
  std::string mount_point_;
  pid_t mount_ = -1;
  Descriptor messages_{MemoryFile()};
};

}  // namespace nfswalk

#endif  // NFSWALK_TESTS_INTEGRATION_MOUNT_RUN_H_
