// The commands that put something into a directory of the export, mv, ln and mkdir -p, while another
// client exchanges that directory for a link, after each reply of the server: nothing comes where
// the link leads.
#include <fcntl.h>
#include <gtest/gtest.h>

#include <atomic>
#include <optional>
#include <string>
#include <string_view>

#include "nfsclient/cli/commands/commands.h"
#include "nfsclient/cli/copy/local_descriptor.h"
#include "tests/fixtures/memory_mount.h"

namespace nfswalk::cli {
namespace {

enum class Command { kMv, kLn, kLnSymbolic, kMkdir };

class PlacingAttackTest : public MemoryMount, public testing::WithParamInterface<Command> {
 protected:
  // shared is sticky and writable for all; shared/d is another user's, and so is the link that takes
  // its name. The server forgets the directory with `is_removed`.
  void MakeTree() {
    shared_ = server_->Add(kRoot, "shared", FileType::kDirectory);
    server_->Edit(shared_, [](protocol::Attributes& attributes) {
      attributes.mode = 01777;
      attributes.uid = 0;
    });
    aside_ = server_->Add(kRoot, "aside", FileType::kDirectory);
    victim_ = server_->Add(kRoot, "victim", FileType::kDirectory);
    for (const char* name : {"f", "g"}) server_->Add(kRoot, name, FileType::kRegular);
    const uint64_t directory = server_->Add(shared_, "d", FileType::kDirectory);
    server_->Edit(directory, [](protocol::Attributes& attributes) {
      attributes.mode = 0777;
      attributes.uid = 2;
    });
  }
  void Exchange(bool is_removed) {
    if (is_removed) protocol_->FailOnce("", protocol::kStale);
    server_->Move(shared_, aside_, "d");
    const uint64_t link = server_->Add(shared_, "d", FileType::kSymlink, "../victim");
    server_->Edit(link, [](protocol::Attributes& attributes) { attributes.uid = 2; });
  }

  static void RunOn(Session& session, Command command) {
    switch (command) {
      case Command::kMv:
        return RunCommand(session, {"f", "g", "shared/d"}, MvOptions());
      case Command::kLn:
        return RunCommand(session, {"f", "g", "shared/d"}, LnOptions());
      case Command::kLnSymbolic:
        return RunCommand(session, {"text", "more", "shared/d"}, LnOptions{.symbolic = true});
      case Command::kMkdir:
        return RunCommand(session, {"shared/d/sub"},
                          MkdirOptions{.parents = true, .mode = std::nullopt});
    }
  }

  // The exchange is made after the `turn`-th reply, counted from 1; 0: before the first. Returns
  // whether it was made.
  bool Run(Command command, int turn, bool is_removed, bool is_cached) {
    options_.acregmin_s = options_.acregmax_s = options_.acdirmin_s = options_.acdirmax_s =
        is_cached ? 600 : 0;
    NewServer();
    MakeTree();
    Mount();
    std::atomic<int> replies = 0;
    std::atomic<bool> exchanged = false;
    if (turn == 0) {
      exchanged = true;
      Exchange(false);
    }
    on_reply_ = [&](const fixtures::Call& /*call*/) {
      if (++replies != turn) return;
      exchanged = true;
      Exchange(is_removed);
    };
    const LocalDescriptor null(open("/dev/null", O_WRONLY | O_CLOEXEC));
    {
      Console console({.out_fd = null.get(), .err_fd = null.get()}, "test");
      Session session(*client_, console, "test", {});
      RunOn(session, command);
    }
    on_reply_ = nullptr;
    return exchanged;
  }
  bool IsVictimEmpty() const {
    for (const char* name : {"f", "g", "text", "more", "sub"}) {
      if (Stat("victim/" + std::string(name), {.no_follow = true}) != kMissing) return false;
    }
    return true;
  }

  uint64_t shared_ = 0, aside_ = 0, victim_ = 0;
};

std::string NameOf(const testing::TestParamInfo<Command>& command) {
  static constexpr const char* kNames[] = {"Mv", "Ln", "LnSymbolic", "Mkdir"};
  return kNames[static_cast<int>(command.param)];
}

INSTANTIATE_TEST_SUITE_P(Commands, PlacingAttackTest,
                         testing::Values(Command::kMv, Command::kLn, Command::kLnSymbolic,
                                         Command::kMkdir),
                         NameOf);

TEST_P(PlacingAttackTest, NothingComesWhereAPlantedLinkLeads) {
  for (const bool is_removed : {false, true}) {
    for (const bool is_cached : {false, true}) {
      bool exchanged = true;
      int turn = 0;
      for (; exchanged; ++turn) {
        SCOPED_TRACE(testing::Message() << "after reply " << turn << ", removed " << is_removed
                                        << ", cached " << is_cached);
        exchanged = Run(GetParam(), turn, is_removed, is_cached);
        EXPECT_TRUE(IsVictimEmpty());
      }
      EXPECT_GT(turn, 3);
    }
  }
}

}  // namespace
}  // namespace nfswalk::cli
