// Whole paths in one reply, which no kernel has: late and overtaken replies once more. See
// docs/testing.md.
#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <string_view>
#include <system_error>
#include <utility>

#include "tests/known_bugs/versioned_mount.h"

namespace nfswalk {
namespace {

class WholePath : public VersionedMount {
 protected:
  WholePath() { AddLeaf(); }

  void NewServer() {
    VersionedMount::NewServer();
    AddLeaf();
  }
  // Runs `change` after the n-th operation of the next whole path. False if it has fewer.
  bool StatInSteps(int n, const std::function<void()>& change) {
    operations_left_ = n;
    server_->BetweenOperations([this, change] {
      if (operations_left_ > 0 && --operations_left_ == 0) change();
    });
    Mount();
    (void)client_->Stat("d/sub/leaf", me_);
    return std::exchange(operations_left_, 0) == 0;
  }

  int operations_left_ = 0;
  uint64_t sub_ = 0, leaf_ = 0;  // "d/sub", "d/sub/leaf"

 private:
  void AddLeaf() {
    sub_ = server_->Add(directory_, "sub", FileType::kDirectory);
    leaf_ = server_->Add(sub_, "leaf", FileType::kRegular);
  }
};

INSTANTIATE_TEST_SUITE_P(Version, WholePath, testing::Values(4), fixtures::VersionTestName);

// A directory first seen in the reply, replaced between any two operations.
TEST_P(WholePath, AChangeBetweenTheOperationsOfAPathShowsOnceTheDirectoryIsRevalidated) {
  int operations = 0;
  for (int n = 1;; ++n) {
    uint64_t now = 0;
    if (!StatInSteps(n, [&] { now = Replace(sub_, "leaf"); })) break;
    operations = n;
    Notice("d/sub");
    ASSERT_EQ(Stat("d/sub/leaf"), now) << "after operation " << n;
    NewServer();
  }
  EXPECT_GE(operations, 8);
}

// The rights of the file, revoked between any two operations.
TEST_P(WholePath, RightsTakenAwayBetweenTheOperationsOfAPathAreGoneOnceTheModeIsSeen) {
  int operations = 0;
  for (int n = 1;; ++n) {
    const auto close = [&] {
      server_->Grant(leaf_, 0);
      server_->Edit(leaf_, [](protocol::Attributes& attributes) { attributes.mode = 0; });
    };
    if (!StatInSteps(n, close)) break;
    operations = n;
    List("d/sub");
    ASSERT_EQ(client_->Access("d/sub/leaf", kMayRead, me_), std::errc::permission_denied)
        << "after operation " << n;
    NewServer();
  }
  EXPECT_GE(operations, 8);
}

// A directory that the reply would have instantiated is known and changed when it arrives. NAME-24.
TEST_P(WholePath, ALateReplyDoesNotValidateADirectoryInstantiatedSince) {
  Mount();
  ASSERT_EQ(Stat("d/never"), kMissing);
  uint64_t now = 0;
  WhileReplyIsInFlight("COMPOUND", [&] {
    EXPECT_EQ(Stat("d/sub/leaf"), leaf_);
    now = Replace(sub_, "leaf");
    List("d/sub");
  });
  (void)StatAs(another_, "d/sub/leaf");
  ASSERT_TRUE(reply_came_);
  EXPECT_EQ(Stat("d/sub/leaf"), now);
  EXPECT_EQ(StatAs(another_, "d/sub/leaf"), now);
}

// A path from the root and one from further down, whose reply is newer and arrives first.
TEST_P(WholePath, AnOlderPathReplyThatArrivesLastIsStale) {
  Mount();
  ASSERT_EQ(Stat("d/never"), kMissing);
  List("d");
  uint64_t now = 0;
  WhileReplyIsInFlight("COMPOUND", [&] {
    now = Replace(sub_, "leaf");
    EXPECT_EQ(Stat("d/sub/leaf"), now);
    EXPECT_EQ(protocol_->Calls("COMPOUND"), 3u);
  });
  ASSERT_EQ(protocol_->Calls("COMPOUND"), 1u);
  (void)StatAs(another_, "d/sub/leaf");
  ASSERT_TRUE(reply_came_);
  EXPECT_EQ(Stat("d/sub/leaf"), now);
  EXPECT_EQ(StatAs(another_, "d/sub/leaf"), now);
}

#ifndef NDEBUG
// A LOOKUP that found the file, and an older path that did not.
TEST_P(WholePath, ALookupIsAnsweredByItsOwnReplyNotByAnOlderPath) {
  Mount();
  ASSERT_EQ(Stat("d/never"), kMissing);
  uint64_t now = 0, found = 0;
  std::unique_ptr<Actor> asker;
  StopAt stop("lookup:after-rpc");
  WhileReplyIsInFlight("COMPOUND", [&] {
    now = server_->Add(directory_, "new", FileType::kRegular);
    asker = std::make_unique<Actor>([&] { found = Stat("d/new"); });
    ASSERT_TRUE(stop.Reached(*asker));
  });
  (void)StatAs(another_, "d/new");
  ASSERT_NE(asker, nullptr);
  stop.LetGo();
  asker->Join();
  EXPECT_EQ(found, now);
  EXPECT_EQ(Stat("d/new"), now);
}
#endif

TEST_P(WholePath, AGrantInAnOverduePathIsNotKept) {
  Mount();
  ASSERT_EQ(Stat("d/sub/leaf"), leaf_);
  WhileReplyIsInFlight("COMPOUND", [&] {
    server_->Grant(leaf_, 0);
    server_->Edit(leaf_, [](protocol::Attributes& attributes) { attributes.mode = 0; });
    List("d/sub");
  });
  (void)client_->Access("d/sub/leaf", kMayRead, another_);
  ASSERT_TRUE(reply_came_);
  EXPECT_EQ(client_->Access("d/sub/leaf", kMayRead, another_), std::errc::permission_denied);
  EXPECT_EQ(client_->Access("d/sub/leaf", kMayRead, me_), std::errc::permission_denied);
}

TEST_P(WholePath, APathThatFailsLeavesWhatIsKnownAlone) {
  Mount();
  ASSERT_EQ(Stat("d/sub/leaf"), leaf_);
  for (const std::errc error : {std::errc::interrupted, std::errc::timed_out, std::errc::io_error,
                                std::errc::operation_not_permitted}) {
    client_->InvalidateCaches();
    const uint64_t dentries = client_->stats().dentries;
    protocol_->Fail("COMPOUND", error);
    const std::errc seen = StatError("d/sub/leaf");
    EXPECT_EQ(seen, error == std::errc::timed_out ? error : std::errc{});
    EXPECT_EQ(client_->stats().dentries, dentries);
    protocol_->Fail("COMPOUND", {});
    EXPECT_EQ(Stat("d/sub/leaf"), leaf_);
  }
}

}  // namespace
}  // namespace nfswalk
