// The fixture that benchmarks use too: no process or mount outlives it.
#include "tests/fixtures/nfs_server.h"

#include <gtest/gtest.h>
#include <nfsc/libnfs.h>
#include <poll.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <string>
#include <vector>

namespace nfswalk::fixtures {
namespace {

namespace fs = std::filesystem;

constexpr int kEndTimeoutMs = 30'000;

// Identifies the processes of one server: its network namespace.
std::string NetworkOf(const std::string& process) {
  std::error_code error;
  return fs::read_symlink("/proc/" + process + "/ns/net", error).string();
}

std::vector<pid_t> ProcessesIn(const std::string& network) {
  std::vector<pid_t> found;
  for (const auto& entry : fs::directory_iterator("/proc")) {
    const std::string name = entry.path().filename().string();
    if (name.find_first_not_of("0123456789") != std::string::npos) continue;
    if (NetworkOf(name) == network) found.push_back(std::stoi(name));
  }
  return found;
}

std::string Contents(const fs::path& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

// libnfs over version 4 reads numeric owners alone. If the server sent them, owner_names_test would
// prove nothing.
TEST(NfsServerTest, SendsOwnerNamesWithoutNumericOwners) {
  if (geteuid() != 0) GTEST_SKIP() << NfsServer::Start().error();
  auto server = NfsServer::Start({.numeric_owners = false});
  ASSERT_TRUE(server.has_value()) << server.error();
  std::ofstream((*server)->backing_directory() + "/file");
  const NfsServer::NetworkScope inside(**server);
  const std::unique_ptr<nfs_context, decltype(&nfs_destroy_context)> owner(nfs_init_context(),
                                                                           nfs_destroy_context);
  nfs_context* const context = owner.get();
  nfs_set_version(context, 4);
  nfs_set_autoreconnect(context, 0);
  nfs_stat_64 found{};
  ASSERT_EQ(nfs_mount(context, (*server)->host().c_str(), (*server)->export_path().c_str()), 0)
      << nfs_get_error(context);
  ASSERT_EQ(nfs_stat64(context, "/file", &found), 0) << nfs_get_error(context);
  constexpr uint64_t kNobody = 65534;
  EXPECT_EQ(found.nfs_uid, kNobody) << "not root@localdomain";
}

TEST(NfsServerTest, LeavesNoProcessAndNoMountBehind) {
  if (geteuid() != 0) GTEST_SKIP() << NfsServer::Start().error();
  // Tests beside this one mount and unmount, too.
  ASSERT_EQ(unshare(CLONE_NEWNS), 0);
  ASSERT_EQ(mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr), 0);
  const std::string mounts = Contents("/proc/self/mountinfo");
  auto server = NfsServer::Start();
  ASSERT_TRUE(server.has_value()) << server.error();
  const std::string network = NetworkOf(std::to_string((*server)->server_pid()));
  EXPECT_GE(ProcessesIn(network).size(), 3u);  // holder, rpcbind, ganesha
  server->reset();
  EXPECT_EQ(ProcessesIn(network), std::vector<pid_t>());
  EXPECT_EQ(Contents("/proc/self/mountinfo"), mounts);
}

// Starts a server in a child process, which then waits for a signal; writes the server's pid to
// `out`.
pid_t StartInChild(int out) {
  const pid_t child = fork();
  if (child != 0) return child;
  auto started = NfsServer::Start();
  const pid_t pid = started ? (*started)->server_pid() : 0;
  if (write(out, &pid, sizeof pid) != sizeof pid) _exit(1);
  for (;;) pause();
}

bool EndsInTime(int process_descriptor) {
  pollfd end{process_descriptor, POLLIN, 0};
  return poll(&end, 1, kEndTimeoutMs) == 1;
}

class NfsServerAbortTest : public testing::TestWithParam<int> {};

TEST_P(NfsServerAbortTest, TheServersProcessesEndWithTheirParent) {
  if (geteuid() != 0) GTEST_SKIP() << NfsServer::Start().error();
  int pids[2];
  ASSERT_EQ(pipe(pids), 0);
  const pid_t child = StartInChild(pids[1]);
  pid_t server = 0;
  ASSERT_EQ(read(pids[0], &server, sizeof server), static_cast<ssize_t>(sizeof server));
  ASSERT_GT(server, 0);
  const std::string network = NetworkOf(std::to_string(server));
  ASSERT_NE(network, NetworkOf("self"));
  std::vector<int> processes;
  for (const pid_t pid : ProcessesIn(network)) {
    processes.push_back(static_cast<int>(syscall(SYS_pidfd_open, pid, 0)));
    ASSERT_GE(processes.back(), 0);
  }
  EXPECT_GE(processes.size(), 3u);
  kill(child, GetParam());
  ASSERT_EQ(waitpid(child, nullptr, 0), child);
  for (const int process : processes) {
    EXPECT_TRUE(EndsInTime(process));
    close(process);
  }
  EXPECT_EQ(ProcessesIn(network), std::vector<pid_t>());
  close(pids[0]);
  close(pids[1]);
}

INSTANTIATE_TEST_SUITE_P(Signals, NfsServerAbortTest,
                         testing::Values(SIGKILL, SIGINT, SIGTERM, SIGSEGV),
                         [](const auto& info) { return std::string(sigabbrev_np(info.param)); });

}  // namespace
}  // namespace nfswalk::fixtures
