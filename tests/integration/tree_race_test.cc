// The commands that walk a tree, while another user exchanges its directories and files with links
// that lead out of it, all the time. tests/unit/nfsclient/cli/tree_attack_test.cc has each
// order of the steps.
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <atomic>
#include <filesystem>
#include <functional>
#include <string>
#include <system_error>
#include <thread>
#include <utility>

#include "nfsclient/client.h"
#include "tests/integration/command_run.h"

namespace nfswalk {
namespace {

namespace fs = std::filesystem;

class TreeRaceTest : public CommandRun {
 protected:
  void SetUp() override {
    CommandRun::SetUp();
    if (IsSkipped()) return;
    MakeTree(root_);
  }
  void TearDown() override { fs::remove_all(here_); }

  // top/{0..9/{f0..f9}} and, beside it, what the exchanges lead to.
  static void MakeTree(const fs::path& root) {
    const ProgramRun run = RunProgram(
        {"sh", "-c",
         "cd '" + root.string() +
             "' && rm -rf top victim aside && mkdir top victim victim/d aside && "
             "for i in 0 1 2 3 4 5 6 7 8 9; do mkdir top/$i; "
             "for j in 0 1 2 3 4 5 6 7 8 9; do echo public > top/$i/f$j; "
             "echo secret > victim/d/f$j; chmod 600 victim/d/f$j; done; done; "
             "chmod 700 victim"});
    ASSERT_EQ(run.exit_code, 0) << run.err;
  }

  // Calls `attack` with 0, 1, 2, ... until it is destroyed. It returns whether it has exchanged
  // something.
  class Attacker {
   public:
    explicit Attacker(std::function<bool(int turn)> attack)
        : thread_([this, attack = std::move(attack)] {
            for (int turn = 0; !stopped_; ++turn) turns_ += attack(turn) ? 1 : 0;
          }) {}
    ~Attacker() {
      stopped_ = true;
      thread_.join();
    }
    int turns() const { return turns_; }

   private:
    std::atomic<bool> stopped_ = false;
    std::atomic<int> turns_ = 0;
    std::thread thread_;
  };

  // Links lead where a directory and a file of the tree were, which then come back.
  template <class Move, class Link, class Remove>
  static bool ExchangeInTurn(int turn, Move move, Link link, Remove remove) {
    const std::string directory = "top/" + std::to_string(turn % 10), file = directory + "/f5";
    const std::string aside = "aside/" + std::to_string(turn);
    for (const auto& [name, target] : {std::pair(directory, "../victim/d"),
                                       std::pair(file, "../../victim/d/f0")}) {
      if (!move(name, aside)) return false;
      link(target, name);
      remove(name);
      // The directory is there again before a name in it is exchanged.
      if (!move(aside, name)) return false;
    }
    return true;
  }

  static void ExpectVictimUntouched(const fs::path& root) {
    for (int j = 0; j < 10; ++j) {
      struct stat found{};
      const fs::path file = root / "victim/d" / ("f" + std::to_string(j));
      ASSERT_EQ(lstat(file.c_str(), &found), 0) << file;
      EXPECT_EQ(found.st_mode & 07777, 0600u) << file;
    }
  }
  static void ExpectNoSecretIn(const fs::path& tree) {
    if (!fs::exists(tree)) return;  // the whole copy failed
    const ProgramRun run = RunProgram({"grep", "-r", "secret", tree});
    EXPECT_EQ(run.out, "");
  }
  std::string Uncached() const { return server_->Url("noac", GetParam()); }

  const fs::path here_ = fs::path(testing::TempDir()) / "tree_race";
};

INSTANTIATE_TEST_SUITE_P(Versions, TreeRaceTest, fixtures::AllVersions(),
                         fixtures::VersionTestName);

constexpr int kRounds = 3;

TEST_P(TreeRaceTest, NothingOutOfATreeOfTheExportIsReadChangedOrRemoved) {
  auto other = Client::Mount(*ParseMountUrl(Url()));
  ASSERT_TRUE(other) << other.error().message;
  const Credential who(0, 0);
  const auto exchange = [&](int turn) {
    return ExchangeInTurn(
        turn,
        [&](const auto& from, const auto& to) { return (*other)->Rename(from, to, who) == kOk; },
        [&](const auto& target, const auto& name) {
          (void)(*other)->MakeSymlink(target, name, who);
        },
        [&](const auto& name) { (void)(*other)->Unlink(name, who); });
  };
  int turns = 0;
  for (int round = 0; round < kRounds; ++round) {
    MakeTree(root_);
    (*other)->InvalidateCaches();  // behind its back: it may know that there is no "top"
    fs::remove_all(here_);
    {
      const Attacker attacker(exchange);
      (void)Run({"chmod", "-R", "-m", "a+rwX", Uncached(), "top"});
      (void)Run({"cp", "-r", Uncached(), "top", here_.string()});
      (void)Run({"rm", "-r", Uncached(), "top"});
      turns += attacker.turns();
    }
    ExpectVictimUntouched(root_);
    ExpectNoSecretIn(here_);
  }
  EXPECT_GT(turns, 10);
}

TEST_P(TreeRaceTest, NothingOutOfATreeOfThisMachineIsRead) {
  const auto exchange = [&](int turn) {
    std::error_code error;
    return ExchangeInTurn(
        turn,
        [&](const auto& from, const auto& to) {
          fs::rename(here_ / from, here_ / to, error);
          return !error;
        },
        [&](const auto& target, const auto& name) {
          fs::create_symlink(target, here_ / name, error);
        },
        [&](const auto& name) { fs::remove(here_ / name, error); });
  };
  int turns = 0;
  for (int round = 0; round < kRounds; ++round) {
    fs::create_directories(here_);
    MakeTree(here_);
    fs::remove_all(Backing("copy"));
    {
      const Attacker attacker(exchange);
      (void)Run({"cp", "-r", (here_ / "top").string(), Url(), "copy"});
      turns += attacker.turns();
    }
    ExpectNoSecretIn(Backing("copy"));
  }
  EXPECT_GT(turns, 10);
}

}  // namespace
}  // namespace nfswalk
