#include "tests/fixtures/ganesha_server.h"

#include <gtest/gtest.h>
#include <nfsc/libnfs.h>
#include <poll.h>
#include <sys/stat.h>
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
#include <string_view>
#include <utility>
#include <vector>

#include "nfsclient/client.h"

namespace nfswalk::fixtures {
namespace {

namespace fs = std::filesystem;

constexpr int kEndTimeoutMs = 30'000;
const Credential kRoot(0, 0);

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

std::unique_ptr<Client> MountOn(const GaneshaServer& server, std::string_view options = "") {
  const auto parsed = ParseMountUrl(server.Url(options));
  EXPECT_TRUE(parsed.has_value()) << parsed.error();
  const GaneshaServer::NetworkScope inside(server);
  auto mounted = Client::Mount(*parsed);
  EXPECT_TRUE(mounted.has_value()) << mounted.error().message;
  return mounted ? std::move(*mounted) : nullptr;
}

void WriteBehind(const GaneshaServer& server, const std::string& name, const std::string& text) {
  std::ofstream(server.backing_directory() + "/" + name) << text;
}

uint64_t SizeOf(Client& client, std::string_view path) {
  const auto attributes = client.Stat(path, kRoot);
  EXPECT_TRUE(attributes.has_value()) << std::make_error_code(attributes.error()).message();
  return attributes ? attributes->size_bytes : 0;
}

// Returns the attributes of `path` by libnfs over NFSv4; all zero, and fails the test, on an error.
nfs_stat_64 Stat4(const GaneshaServer& server, const std::string& path) {
  const GaneshaServer::NetworkScope inside(server);
  const std::unique_ptr<nfs_context, decltype(&nfs_destroy_context)> context(nfs_init_context(),
                                                                             nfs_destroy_context);
  nfs_stat_64 found{};
  nfs_set_version(context.get(), 4);
  nfs_set_autoreconnect(context.get(), 0);
  EXPECT_EQ(nfs_mount(context.get(), server.host().c_str(), server.export_path().c_str()), 0)
      << nfs_get_error(context.get());
  EXPECT_EQ(nfs_stat64(context.get(), path.c_str(), &found), 0) << nfs_get_error(context.get());
  return found;
}

class GaneshaServerTest : public testing::Test {
 protected:
  void SetUp() override {
    if (geteuid() != 0) GTEST_SKIP() << GaneshaServer::Start().error();
    auto started = GaneshaServer::Start();
    ASSERT_TRUE(started.has_value()) << started.error();
    server_ = std::move(*started);
  }

  std::unique_ptr<GaneshaServer> server_;
};

TEST_F(GaneshaServerTest, ServesItsBackingDirectoryAndStoresChangesThere) {
  WriteBehind(*server_, "behind", "12345");
  const auto client = MountOn(*server_);
  ASSERT_NE(client, nullptr);
  EXPECT_EQ(SizeOf(*client, "behind"), 5u);
  ASSERT_TRUE(client->MakeDirectory("through", 0750, kRoot).has_value());
  struct stat seen {};
  ASSERT_EQ(stat((server_->backing_directory() + "/through").c_str(), &seen), 0);
  EXPECT_EQ(seen.st_mode, S_IFDIR | mode_t{0750});
}

TEST_F(GaneshaServerTest, ShowsTheSameFilesOverNfs4) {
  WriteBehind(*server_, "behind", "12345");
  const auto client = MountOn(*server_);
  ASSERT_NE(client, nullptr);
  const nfs_stat_64 found = Stat4(*server_, "/behind");
  EXPECT_EQ(found.nfs_size, 5u);
  EXPECT_EQ(found.nfs_uid, 0u);  // numeric_owners: libnfs reads no other
  EXPECT_EQ(found.nfs_ino, client->Stat("behind", kRoot)->fileid);
}

TEST_F(GaneshaServerTest, DoesNotCacheTheBackingDirectory) {
  WriteBehind(*server_, "file", "1");
  const auto client = MountOn(*server_, "noac");
  ASSERT_NE(client, nullptr);
  EXPECT_EQ(SizeOf(*client, "file"), 1u);
  WriteBehind(*server_, "file", "12345678");
  EXPECT_EQ(SizeOf(*client, "file"), 8u);
  fs::remove(server_->backing_directory() + "/file");
  EXPECT_EQ(client->Stat("file", kRoot).error(), std::errc::no_such_file_or_directory);
}

TEST_F(GaneshaServerTest, ServesTheSameFilesAfterItWasKilledAndStartedAgain) {
  WriteBehind(*server_, "file", "123");
  const auto client = MountOn(*server_, "noac");
  ASSERT_NE(client, nullptr);
  EXPECT_EQ(SizeOf(*client, "file"), 3u);
  const pid_t first = server_->server_pid();
  server_->Kill();
  EXPECT_FALSE(server_->running());
  ASSERT_EQ(server_->Restart(), "");
  EXPECT_TRUE(server_->running());
  EXPECT_NE(server_->server_pid(), first);
  EXPECT_EQ(SizeOf(*client, "file"), 3u);  // handles survive the restart
}

TEST_F(GaneshaServerTest, IsStoppedWhileItHangs) {
  auto state = [this] {
    const std::string line = Contents("/proc/" + std::to_string(server_->server_pid()) + "/stat");
    return line.at(line.rfind(')') + 2);
  };
  server_->Hang();
  siginfo_t change{};
  ASSERT_EQ(waitid(P_PID, server_->server_pid(), &change, WSTOPPED), 0);
  EXPECT_EQ(state(), 'T');
  server_->Resume();
  ASSERT_EQ(waitid(P_PID, server_->server_pid(), &change, WCONTINUED), 0);
  EXPECT_NE(state(), 'T');
}

TEST_F(GaneshaServerTest, RunsBesideAnotherOnTheSamePort) {
  auto started = GaneshaServer::Start();
  ASSERT_TRUE(started.has_value()) << started.error();
  GaneshaServer& other = **started;
  ASSERT_EQ(other.Url(), server_->Url());
  WriteBehind(*server_, "file", "1");
  WriteBehind(other, "file", "22");
  const auto ours = MountOn(*server_), theirs = MountOn(other);
  ASSERT_NE(ours, nullptr);
  ASSERT_NE(theirs, nullptr);
  EXPECT_EQ(SizeOf(*ours, "file"), 1u);
  EXPECT_EQ(SizeOf(*theirs, "file"), 2u);
}

TEST(GaneshaServerOptionsTest, RootSquashTakesRootsRights) {
  if (geteuid() != 0) GTEST_SKIP() << GaneshaServer::Start().error();
  auto started = GaneshaServer::Start({.root_squash = true});
  ASSERT_TRUE(started.has_value()) << started.error();
  fs::create_directory((*started)->backing_directory() + "/closed");
  const auto client = MountOn(**started);
  ASSERT_NE(client, nullptr);
  EXPECT_EQ(client->MakeDirectory("closed/new", 0755, kRoot).error(), std::errc::permission_denied);
}

TEST(GaneshaServerOptionsTest, OwnersAreNamesWithoutNumericOwners) {
  if (geteuid() != 0) GTEST_SKIP() << GaneshaServer::Start().error();
  auto started = GaneshaServer::Start({.numeric_owners = false});
  ASSERT_TRUE(started.has_value()) << started.error();
  WriteBehind(**started, "file", "");
  constexpr uint64_t kNobody = 65534;
  EXPECT_EQ(Stat4(**started, "/file").nfs_uid, kNobody) << "libnfs makes this of root@localdomain";
}

TEST(GaneshaServerOptionsTest, TheInnerFileSystemHasItsOwnFsidAndNfs4CrossesIntoIt) {
  if (geteuid() != 0) GTEST_SKIP() << GaneshaServer::Start().error();
  auto started = GaneshaServer::Start({.inner_file_system = true});
  ASSERT_TRUE(started.has_value()) << started.error();
  const std::string inner(GaneshaServer::inner_directory());
  WriteBehind(**started, "outside", "1");
  WriteBehind(**started, inner + "/inside", "22");
  struct stat outside {
  }, inside{};
  ASSERT_EQ(stat(((*started)->backing_directory() + "/outside").c_str(), &outside), 0);
  ASSERT_EQ(stat(((*started)->backing_directory() + "/" + inner + "/inside").c_str(), &inside), 0);
  EXPECT_NE(outside.st_dev, inside.st_dev);
  EXPECT_EQ(Stat4(**started, "/outside").nfs_size, 1u);
  EXPECT_EQ(Stat4(**started, "/" + inner + "/inside").nfs_size, 2u);
  const auto client = MountOn(**started);
  ASSERT_NE(client, nullptr);
  EXPECT_EQ(client->Stat(inner + "/inside", kRoot).error(), protocol::kStale);
}

TEST_F(GaneshaServerTest, ANetworkScopeRestoresTheNamespace) {
  const std::string before = NetworkOf("thread-self");
  {
    const GaneshaServer::NetworkScope inside(*server_);
    EXPECT_EQ(NetworkOf("thread-self"), NetworkOf(std::to_string(server_->server_pid())));
    EXPECT_NE(NetworkOf("thread-self"), before);
  }
  EXPECT_EQ(NetworkOf("thread-self"), before);
}

TEST_F(GaneshaServerTest, LeavesNoProcessAndNoMountBehind) {
  const std::string network = NetworkOf(std::to_string(server_->server_pid()));
  const std::string mounts = Contents("/proc/self/mountinfo");
  EXPECT_GE(ProcessesIn(network).size(), 3u);  // holder, rpcbind, ganesha
  server_.reset();
  EXPECT_EQ(ProcessesIn(network), std::vector<pid_t>());
  EXPECT_EQ(Contents("/proc/self/mountinfo"), mounts);
}

// Starts a server in a child process, which then waits for a signal; writes the server's pid to
// `out`.
pid_t StartInChild(int out) {
  const pid_t child = fork();
  if (child != 0) return child;
  auto started = GaneshaServer::Start();
  const pid_t pid = started ? (*started)->server_pid() : 0;
  if (write(out, &pid, sizeof pid) != sizeof pid) _exit(1);
  for (;;) pause();
}

bool EndsInTime(int process_descriptor) {
  pollfd end{process_descriptor, POLLIN, 0};
  return poll(&end, 1, kEndTimeoutMs) == 1;
}

class GaneshaServerAbortTest : public testing::TestWithParam<int> {};

TEST_P(GaneshaServerAbortTest, TheServersProcessesEndWithTheirParent) {
  if (geteuid() != 0) GTEST_SKIP() << GaneshaServer::Start().error();
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

INSTANTIATE_TEST_SUITE_P(Signals, GaneshaServerAbortTest,
                         testing::Values(SIGKILL, SIGINT, SIGTERM, SIGSEGV),
                         [](const auto& info) { return std::string(sigabbrev_np(info.param)); });

}  // namespace
}  // namespace nfswalk::fixtures
