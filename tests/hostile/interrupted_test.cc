// A server that takes a call and never answers: an interrupt ends the command that waits, as the
// signal does that nothing catches. A shell shows 128 and the signal's number.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <ostream>
#include <semaphore>
#include <set>
#include <string>
#include <tuple>

#include "tests/fixtures/libnfs_raw.h"
#include "tests/hostile/hostile_server.h"
#include "tests/integration/program_run.h"

namespace nfswalk::hostile {
namespace {

namespace fs = std::filesystem;

struct WaitingCommand {
  std::string name;
  Strings arguments;  // words of capitals are replaced
  bool connects = false;  // waits for its mount, else for a listing
};
void PrintTo(const WaitingCommand& command, std::ostream* out) { *out << command.name; }

const WaitingCommand kCommands[] = {
    {"Ls", {"ls", "-R", "URL"}},
    {"Find", {"find", "URL"}},
    {"Du", {"du", "URL"}},
    {"CpToHere", {"cp", "-r", "URL", ".", "COPY"}},
    {"CpBetween", {"cp", "-r", "URL", "dir", "URL", "new"}},
    {"Chmod", {"chmod", "-R", "-m", "u+rwX", "URL", "dir"}},
    {"Rm", {"rm", "-r", "URL", "dir"}},
    {"Mount", {"mount", "-f", "URL", "DIRECTORY"}, true},
};

class InterruptTest
    : public testing::TestWithParam<std::tuple<WaitingCommand, int /* version */, int>> {
 protected:
  InterruptTest() {
    const auto& [command, version, signal] = GetParam();
    attack_.version = version;
    // The last one of these counts: only the interrupt ends the waiting.
    attack_.options = "hard";
    if (!command.connects && version == 3) attack_.operations = {NFS3_READDIR, NFS3_READDIRPLUS};
    if (!command.connects && version == 4) attack_.operations = {OP_READDIR};
    if (command.connects && version == 3) attack_.service = Service::kMount;
    if (command.connects && version == 3) attack_.operations = {MOUNT3_MNT};
    if (command.connects && version == 4) attack_.operations = {OP_PUTROOTFH};
    attack_.tamper = [this](const Exchange&) {
      waits_.release();
      return protocol::kSilence;
    };
    fs::create_directories(place_ + "/directory");
  }
  ~InterruptTest() override { fs::remove_all(place_); }

  Strings Arguments(const HostileServer& server) const {
    Strings arguments = std::get<0>(GetParam()).arguments;
    for (std::string& argument : arguments) {
      if (argument == "URL") argument = server.Url();
      if (argument == "COPY") argument = place_ + "/copy";
      if (argument == "DIRECTORY") argument = place_ + "/directory";
    }
    arguments.insert(arguments.begin(), "nfsclient/cli/nfswalk");
    return arguments;
  }

  const std::string place_ = std::string(getenv("TEST_TMPDIR")) + "/interrupted";
  std::counting_semaphore<> waits_{0};
  Attack attack_;
};

TEST_P(InterruptTest, EndsTheCommandThatWaits) {
  const auto& [command, version, signal] = GetParam();
  HostileServer server(attack_, INADDR_LOOPBACK);
  const Descriptor out(MemoryFile()), err(MemoryFile());
  const pid_t pid = SpawnProgram(Arguments(server), out.fd, err.fd);
  waits_.acquire();
  ASSERT_EQ(kill(pid, signal), 0);
  int status = 0;
  ASSERT_EQ(waitpid(pid, &status, 0), pid);
  EXPECT_TRUE(WIFSIGNALED(status)) << "exit code " << WEXITSTATUS(status) << Contents(err.fd);
  EXPECT_EQ(WTERMSIG(status), signal);
  EXPECT_EQ(Contents(out.fd), "");
  const std::string said = Contents(err.fd);
  EXPECT_EQ(said.find(strsignal(signal)) != said.npos, command.connects) << said;
}

// A mount goes on in a child of the process that the signal is sent to.
class InterruptedParentTest
    : public testing::TestWithParam<std::tuple<int /* version */, int /* signal */>> {};

TEST_P(InterruptedParentTest, EndsTheChildThatConnects) {
  const auto& [version, signal] = GetParam();
  std::binary_semaphore waits(0);
  Attack attack;
  attack.version = version;
  attack.options = "hard";
  attack.operations = {version == 3 ? MOUNT3_MNT : OP_PUTROOTFH};
  if (version == 3) attack.service = Service::kMount;
  attack.tamper = [&](const Exchange&) {
    waits.release();
    return protocol::kSilence;
  };
  HostileServer server(attack, INADDR_LOOPBACK);
  const std::string directory = std::string(getenv("TEST_TMPDIR")) + "/interrupted";
  fs::create_directories(directory);
  // Ends with the last process that can write to it.
  int ends[2];
  ASSERT_EQ(pipe2(ends, O_CLOEXEC), 0);
  const pid_t pid =
      SpawnProgram({"nfsclient/cli/nfswalk", "mount", server.Url(), directory}, ends[1], ends[1]);
  close(ends[1]);
  waits.acquire();
  ASSERT_EQ(kill(pid, signal), 0);
  int status = 0;
  ASSERT_EQ(waitpid(pid, &status, 0), pid);
  EXPECT_EQ(WTERMSIG(status), signal);
  std::string said;
  for (char piece[4096];;) {
    const ssize_t count = read(ends[0], piece, sizeof piece);
    if (count <= 0) break;
    said.append(piece, static_cast<size_t>(count));
  }
  close(ends[0]);
  EXPECT_NE(said.find("not mounted: Terminated"), said.npos) << said;
}

INSTANTIATE_TEST_SUITE_P(Signals, InterruptedParentTest,
                         testing::Combine(testing::Values(3, 4),
                                          testing::Values(SIGINT, SIGTERM, SIGHUP, SIGKILL)),
                         [](const auto& info) {
                           return "V" + std::to_string(std::get<0>(info.param)) + "By" +
                                  sigabbrev_np(std::get<1>(info.param));
                         });

INSTANTIATE_TEST_SUITE_P(Commands, InterruptTest,
                         testing::Combine(testing::ValuesIn(kCommands), testing::Values(3, 4),
                                          testing::Values(SIGINT, SIGTERM, SIGHUP)),
                         [](const auto& info) {
                           return std::get<0>(info.param).name + "V" +
                                  std::to_string(std::get<1>(info.param)) + "By" +
                                  sigabbrev_np(std::get<2>(info.param));
                         });

}  // namespace
}  // namespace nfswalk::hostile
