// The names by which a file is opened again that was renamed or removed while it is open (NAME-29).
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "nfsclient/nfs4/state/open_files.h"
#include "tests/unit/nfsclient/nfs4/state/open_files_fixture.h"

namespace nfswalk::protocol {
namespace {

class ReopenNames : public OpenFilesTest {
 protected:
  // Holds what the owner of the names knows.
  struct Known {
    std::vector<std::string> names;
    // A RENAME is in flight, whose reply brings these once all of `names` were tried.
    std::optional<std::vector<std::string>> soon;
    int asked = 0;
  };
  class Names final : public FileNames {
   public:
    Names(FileHandle directory, std::shared_ptr<Known> known)
        : directory_(directory), known_(std::move(known)) {}
    std::optional<FileName> NextName(std::span<const FileName> tried) const override {
      ++known_->asked;
      for (const std::string& name : known_->names) {
        const FileName next{directory_, name};
        if (std::ranges::find(tried, next) == tried.end()) return next;
      }
      if (known_->soon) known_->names = *std::exchange(known_->soon, std::nullopt);
      return std::nullopt;
    }
    bool AreChanging() const override { return known_->soon.has_value(); }

   private:
    const FileHandle directory_;
    const std::shared_ptr<Known> known_;
  };

  // Opens "old", which is then `names` to the client.
  std::unique_ptr<OpenState> OpenOld(std::vector<std::string> names) {
    server_.Put("old", {.mode = 0666, .data = "mine"});
    auto state = OpenFile("old");
    known_->names = std::move(names);
    state->FollowNames(std::make_unique<Names>(root_, known_));
    return state;
  }
  void RenameOnServer(const std::string& from, const std::string& to) {
    server_.Link(from, to);
    server_.Erase(from);
  }

  const std::shared_ptr<Known> known_ = std::make_shared<Known>();
};

TEST_F(ReopenNames, ThePresentOneIsUsedAndNotThatOfTheOpen) {
  const auto state = OpenOld({"new"});
  RenameOnServer("old", "new");
  server_.Put("old", {.mode = 0666, .data = "other"});
  server_.ExpireLeases();
  EXPECT_EQ(Read(state.get()).data, "mine");
  EXPECT_EQ(server_.calls(OP_OPEN), 2);
}

TEST_F(ReopenNames, EachIsTriedUntilOneLeadsToTheFile) {
  const auto state = OpenOld({"gone", "other", "new"});
  RenameOnServer("old", "new");
  server_.Put("other", {.mode = 0666, .data = "other"});
  server_.Restart(false);
  EXPECT_EQ(Read(state.get()).data, "mine");
  EXPECT_EQ(server_.opens(), 1u) << "that of the other file is closed";
}

TEST_F(ReopenNames, WithNoneThatLeadsToTheFileItIsLost) {
  const auto state = OpenOld({"gone", "other"});
  RenameOnServer("old", "new");
  server_.Put("other", {.mode = 0666});
  server_.ExpireLeases();
  EXPECT_EQ(Read(state.get()).error, std::errc::io_error);
  EXPECT_EQ(server_.opens(), 0u);
}

// The server has executed a RENAME whose reply is not here yet.
TEST_F(ReopenNames, AChangeThatIsInFlightIsWaitedFor) {
  const auto state = OpenOld({"old"});
  known_->soon = {"new"};
  RenameOnServer("old", "new");
  server_.ExpireLeases();
  EXPECT_EQ(Read(state.get()).data, "mine");
}

// A RENAME begins after the names were asked for first: the server executes it before the OPEN, its
// reply comes behind the last name that was tried.
TEST_F(ReopenNames, AChangeThatBeginsMeanwhileIsWaitedFor) {
  class Late final : public FileNames {
   public:
    Late(FileHandle directory, std::function<void()> rename)
        : directory_(directory), rename_(std::move(rename)) {}
    std::optional<FileName> NextName(std::span<const FileName> tried) const override {
      if (step_ == 0) {
        step_ = 1;  // Move begins, RENAME is executed
        rename_();
        return FileName{directory_, "old"};
      }
      const FileName next{directory_, step_ == 1 ? "old" : "new"};
      if (step_ == 1 && !tried.empty()) {
        step_ = 2;  // the reply comes right after this answer
        return std::nullopt;
      }
      if (std::ranges::find(tried, next) != tried.end()) return std::nullopt;
      return next;
    }
    bool AreChanging() const override { return step_ == 1; }

   private:
    const FileHandle directory_;
    const std::function<void()> rename_;
    mutable int step_ = 0;
  };
  server_.Put("old", {.mode = 0666, .data = "mine"});
  auto state = OpenFile("old");
  state->FollowNames(std::make_unique<Late>(root_, [&] { RenameOnServer("old", "new"); }));
  server_.ExpireLeases();
  EXPECT_EQ(Read(state.get()).data, "mine");
}

TEST_F(ReopenNames, AClosedFileAsksForNone) {
  auto state = OpenOld({"old"});
  state.reset();
  EXPECT_EQ(known_.use_count(), 1);
  EXPECT_EQ(known_->asked, 0);
}

}  // namespace
}  // namespace nfswalk::protocol
