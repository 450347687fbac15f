// Each command and the mount over trees that a server may offer: each ends by itself or at its user's
// interrupt, within so many replies, with an exit code, in bounded memory; nothing raw comes to a
// terminal, and nothing out of the target of a copy.
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "tests/fixtures/libnfs_raw.h"
#include "tests/hostile/hostile_server.h"
#include "tests/hostile/hostile_trees.h"
#include "tests/hostile/leaks.h"
#include "tests/hostile/victim.h"

namespace nfswalk::hostile {
namespace {

namespace fs = std::filesystem;
using protocol::FakeNode;
using protocol::FakeTreeServer;
using Strings = std::vector<std::string>;

constexpr int kRepliesMax = 5000;  // a tree has a few files
constexpr int kRepliesOfMountMax = 20'000;  // to all programs on it, none of which goes on
constexpr int kRepliesOfUser = 200;  // after which the user of what has no end interrupts it
constexpr long kKibMax = 96 * 1024 + kMoreKibMax;
constexpr int kWritesMax = 64;  // that the server of a copy takes

struct Command {
  std::string name;
  Strings arguments;  // words of capitals are replaced
  bool reads_data = false;
  bool lists = false;
};

const std::vector<Command>& Commands() {
  static const std::vector<Command> commands = {
      {"ls", {"ls", "-laR", "URL", "t"}, false, true},
      {"ls --json", {"ls", "-l", "--json", "URL", "t"}, false, true},
      {"find", {"find", "URL", "t"}, false, true},
      {"du", {"du", "-a", "URL", "t"}, false, true},
      {"stat", {"stat", "URL", "NAME"}},
      {"stat --json", {"stat", "--json", "URL", "NAME"}},
      {"readlink", {"readlink", "URL", "NAME"}},
      {"access", {"access", "-r", "URL", "NAME"}},
      {"doctor", {"doctor", "URL", "NAME"}},
      {"cat", {"cat", "URL", "NAME"}, true},
      {"cp to here", {"cp", "-r", "URL", "t", "COPY"}, true, true},
      {"cp -p to here", {"cp", "-rp", "URL", "t", "COPY"}, true, true},
      {"cp of one", {"cp", "URL", "NAME", "COPY"}, true},
      {"cp between", {"cp", "-r", "URL", "t", "OTHER", "out"}, true, true},
      {"cp -p between", {"cp", "-rp", "URL", "t", "OTHER", "out"}, true, true},
      {"cp from here", {"cp", "-r", "HERE", "URL", "t"}},
      {"cp over", {"cp", "HERE/f", "URL", "NAME"}},
      {"put", {"put", "URL", "NAME"}},
      {"touch", {"touch", "URL", "NAME"}},
      {"mkdir", {"mkdir", "-p", "URL", "NAME/x"}},
      {"ln", {"ln", "URL", "NAME", "linked"}},
      {"ln -s", {"ln", "-s", "URL", "text", "NAME"}},
      {"mv", {"mv", "URL", "NAME", "moved"}},
      {"chmod", {"chmod", "-R", "-m", "u+rwX", "URL", "t"}, false, true},
      {"rm", {"rm", "-r", "URL", "t"}, false, true},
  };
  return commands;
}

// Whether below the directory is only what a copy may make, without the bits that act for an owner.
bool IsTame(const fs::path& directory) {
  using fs::perms;
  if (!fs::exists(directory)) return true;
  for (const auto& entry : fs::recursive_directory_iterator(directory)) {
    const fs::file_status status = entry.symlink_status();
    const bool is_plain =
        fs::is_regular_file(status) || fs::is_directory(status) || fs::is_symlink(status);
    if (!is_plain || (status.permissions() & (perms::set_uid | perms::set_gid)) != perms::none) {
      return false;
    }
  }
  return true;
}
bool IsTame(const FakeNode& node) {
  if ((node.mode & 06000) != 0) return false;
  for (const auto& [name, entry] : node.entries) {
    if (!IsTame(*entry)) return false;
  }
  return true;
}

// Whether each line is a complaint of its own.
bool IsOneLineEach(const std::string& err) {
  constexpr std::string_view kBegin = "nfswalk: ";
  for (size_t i = 0; i < err.size(); i = err.find('\n', i) + 1) {
    if (err.compare(i, kBegin.size(), kBegin) != 0 || err.back() != '\n') return false;
  }
  return true;
}

// An attack on the listings of its version.
Attack ListingAttack(int version, const std::string& name) {
  for (const Attack& attack : version == 3 ? Nfs3Attacks() : Nfs4Attacks()) {
    if (attack.name == name) return attack;
  }
  ADD_FAILURE() << "no attack " << name;
  return {};
}

class HostileTreeTest : public testing::TestWithParam<std::tuple<HostileTree, int>> {
 protected:
  void SetUp() override {
    const int version = std::get<1>(GetParam());
    if (!tree().listings.empty()) attack_ = ListingAttack(version, tree().listings);
    attack_.version = other_.version = version;
    attack_.plant = [plant = tree().plant](FakeTreeServer& server) {
      server.Put(kTreeDirectory, {.type = FakeNode::Type::kDirectory, .mode = 0755});
      plant(server);
    };
    other_.plant = [version = other_.version](FakeTreeServer& server) {
      const int write = version == 3 ? int{NFS3_WRITE} : int{OP_WRITE};
      server.Inject(write, {.status = NFS3ERR_FBIG}, protocol::kForEver, kWritesMax);
    };
    place_ = std::string(getenv("TEST_TMPDIR")) + "/" +
             testing::UnitTest::GetInstance()->current_test_info()->name();
    setenv("NO_COLOR", "1", 1);
  }
  void TearDown() override { fs::remove_all(place_); }
  const HostileTree& tree() const { return std::get<0>(GetParam()); }

  // As far as an argument can have it: to its first NUL.
  std::string NamePath() const {
    return std::string(kTreeDirectory) + "/" + tree().name.c_str();
  }
  // Makes an empty target for copies, and a local directory to copy from.
  void MakePlace() {
    fs::remove_all(place_);
    fs::create_directories(place_ + "/a/copy");
    here_ = place_ + "-here";
    fs::create_directories(here_);
    std::ofstream(here_ + "/f") << "of this machine";
  }

  Strings Replaced(Strings arguments, const HostileServer& server, const HostileServer& other) {
    for (std::string& argument : arguments) {
      if (argument == "URL") argument = server.Url();
      if (argument == "OTHER") argument = other.Url();
      if (argument == "COPY") argument = place_ + "/a/copy";
      if (argument.starts_with("HERE")) argument.replace(0, 4, here_);
      if (argument.starts_with("NAME")) {
        argument.replace(0, 4, NamePath());
      }
    }
    return arguments;
  }

  bool MayGoOn(const Command& command) const {
    const bool has_endless_listings = attack_.ending == Ending::kInterrupted;
    return (tree().is_endless && command.reads_data) || (has_endless_listings && command.lists);
  }
  bool HasToFail(const Command& command, HostileServer& server) const {
    if (attack_.ending == Ending::kFails) return command.lists && server.attacked() > 0;
    return command.name == "ls" && tree().is_refused;
  }

  // Returns what is wrong with the end of a command, or "".
  std::string Verdict(const Command& command, const VictimEnd& end, HostileServer& server) {
    const bool may_go_on = MayGoOn(command);
    if (end.was_killed) return "took " + std::to_string(server.replies()) + " replies";
    if (may_go_on && end.signal == SIGINT) return "";
    if (end.signal != 0) return std::string("ended by ") + strsignal(end.signal);
    if (end.exit_code != 0 && end.exit_code != 1) {
      return "exit code " + std::to_string(end.exit_code) + ": " + end.err;
    }
    if (end.exit_code == 1 && end.err.empty()) return "failed without a word";
    if (end.exit_code == 0 && HasToFail(command, server)) return "did not fail";
    if (!IsOneLineEach(end.err)) return "complained in other lines: " + end.err;
    if (end.resident_kib_max > kKibMax) return std::to_string(end.resident_kib_max) + " KiB";
    if (command.name != "cat" && !IsSafeForTerminal(end.out)) return "printed raw: " + end.out;
    if (!IsSafeForTerminal(end.err)) return "complained raw: " + end.err;
    return "";
  }

  Attack attack_, other_;
  std::string place_, here_;
};

TEST_P(HostileTreeTest, EndsNoCommand) {
  // A copy that goes on ends here, by EFBIG.
  const Strings limited = {"sh", "-c", "ulimit -f 16384; exec nfsclient/cli/nfswalk \"$@\"", "sh"};
  for (const Command& command : Commands()) {
    SCOPED_TRACE(command.name);
    MakePlace();
    HostileServer server(attack_, INADDR_LOOPBACK);
    HostileServer other(other_, INADDR_LOOPBACK);
    Strings arguments = limited;
    for (std::string& argument : Replaced(command.arguments, server, other)) {
      arguments.push_back(std::move(argument));
    }
    VictimLimits limits;
    if (MayGoOn(command)) {
      limits.is_interrupted = [&] { return server.replies() > kRepliesOfUser; };
    } else {
      limits.is_killed = [&] { return server.replies() > kRepliesMax; };
    }
    const VictimEnd end = RunVictim(arguments, limits);
    EXPECT_EQ(Verdict(command, end, server), "");
    EXPECT_FALSE(IsAnythingBeside(place_)) << "wrote outside of its target";
    EXPECT_TRUE(IsTame(place_));
    const auto copied = other.tree().Find("out");
    EXPECT_TRUE(!copied || IsTame(*copied));
    fs::remove_all(here_);
  }
}

TEST_P(HostileTreeTest, EndsNoMount) {
  if (geteuid() != 0) GTEST_SKIP() << "namespaces of its own need root";
  MakePlace();
  HostileServer server(attack_, INADDR_LOOPBACK);
  // Contents and listings may have no end, and a program goes on with them until it is interrupted.
  const bool has_no_end = tree().is_endless || attack_.ending == Ending::kInterrupted;
  const int step = has_no_end ? kRepliesOfUser : kRepliesMax;
  const auto is_interrupted = [&server, step, next = step]() mutable {
    if (server.replies() < next) return false;
    next = server.replies() + step;
    return true;
  };
  // But for those that are an error.
  VictimLimits limits{.is_interrupted = is_interrupted};
  if (attack_.ending == Ending::kFails) {
    limits = {.is_killed = [&server] { return server.replies() > kRepliesOfMountMax; }};
  }
  const VictimEnd end =
      RunVictim({"unshare", "--mount", "--pid", "--fork", "--mount-proc", "--kill-child", "sh", "-c",
                 "ulimit -f 16384; exec sh tests/hostile/mounted.sh \"$@\"", "sh", server.Url(),
                 place_ + "/a/copy", NamePath()},
                limits);
  EXPECT_FALSE(end.was_killed) << server.replies() << " replies";
  EXPECT_EQ(end.signal, 0);
  EXPECT_EQ(end.exit_code, 0) << end.out << end.err;
  EXPECT_FALSE(IsAnythingBeside(place_)) << "wrote outside of its target";
  fs::remove_all(here_);
}

INSTANTIATE_TEST_SUITE_P(Trees, HostileTreeTest,
                         testing::Combine(testing::ValuesIn(HostileTrees()),
                                          testing::Values(3, 4)),
                         [](const auto& info) {
                           return "V" + std::to_string(std::get<1>(info.param)) +
                                  std::get<0>(info.param).title;
                         });

}  // namespace
}  // namespace nfswalk::hostile
