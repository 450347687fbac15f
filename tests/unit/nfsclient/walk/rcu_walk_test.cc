// The reasons to leave RCU-walk (docs/walk.md), but for those of its hooks; what ref-walk then
// answers, and the calls that takes. Credentials: CRED-2.
#include "nfsclient/walk/rcu_walk.h"

#include <gtest/gtest.h>

#include "rcu/sync_point.h"
#include "tests/exits/exits.h"

namespace nfswalk::exits {
namespace {

using KnownCredential = Exits;

TEST_F(KnownCredential, AnUnknownCredentialNeedsMemory) {
  Mount();
  Left(StatOf("/"), NeedRef::kAllocation, kOk, {});
  Answered(StatOf("/"));
}

TEST_F(KnownCredential, ACredentialUnusedForAMinuteExpires) {
  Mount();
  Warm(StatOf("/"));
  SteeredClock::Pass(60 * kSecond);
  (void)Warm(AccessBy(another_, "/", 0));
  Answered(StatOf("/"));
  SteeredClock::Pass(60 * kSecond + 1);
  (void)Warm(AccessBy(Credential(3, 3), "/", 0));
  Left(StatOf("/"), NeedRef::kAllocation, kOk, {});
}

TEST_F(KnownCredential, DropCachesDropsCredentials) {
  Mount();
  Warm(StatOf("/"));
  client_->DropCaches();
  Left(StatOf("/"), NeedRef::kAllocation, kOk, {});
}

using WalkReason = Exits;

TEST_F(WalkReason, AnUnknownNameIsLookedUp) {
  Mount();
  Warm(StatOf("d/f"));
  Left(StatOf("d/s"), NeedRef::kMiss, kOk, {"LOOKUP s"});
  Left(StatOf("d/n"), NeedRef::kMiss, kNoEntry, {"LOOKUP n"});
  Answered(StatOf("d/s"));
  Answered(StatOf("d/n"), kNoEntry);
}

// WALK-1.
TEST_F(WalkReason, NothingIsTriedUnderRcu) {
  options_.walk = WalkMode::kRef;
  Mount();
  Warm(StatOf("d/f"));
  Left(StatOf("d/f"), NeedRef::kRefMode, kOk, {});
  Left(StatOf("/"), NeedRef::kRefMode, kOk, {});
  Left(StatOf("d/n/x"), NeedRef::kRefMode, kNoEntry, {"LOOKUP n"});
  Left(StatOf("d/n/x"), NeedRef::kRefMode, kNoEntry, {});
}

// A path and a link's text may each have 4095 bytes; the buffer holds two of them. WALK-28.
TEST_F(WalkReason, LongLinksBehindALongPathNeedMemory) {
  std::string dots;
  while (dots.size() < 4000) dots += "./";
  server_->Add(kRoot, "long", FileType::kSymlink, "short/" + dots);
  server_->Add(kRoot, "short", FileType::kSymlink,
               "d/" + std::string(100, '/') + dots.substr(3000));
  Mount();
  Warm(StatOf("long"));
  Answered(StatOf("long"));
  Left(StatOf("long/" + dots), NeedRef::kAllocation, kOk, {});
}

TEST_F(WalkReason, AStrictWalkOfALongPathNeedsMemory) {
  Mount();
  Warm(StatOf("d/s"));
  std::string path = "d";
  while (path.size() < 700) path += "/../d";
  Question question = StatOf(path);
  Answered(question);
  question.flags.strict = true;
  Left(question, NeedRef::kAllocation, kOk, {});
  question.path = "d/../d/../d";
  Answered(question);
}

#ifndef NDEBUG
TEST_F(WalkReason, ALinkIsMovedWhileItsTextIsRead) {
  Mount();
  Warm(StatOf("d/l"));
  At("walk:after-link-text", 1, [&] { Rename("d/l", "l"); });
  EXPECT_EQ(AskRcu(*client_, StatOf("d/l")).need, NeedRef::kChanged);
  EXPECT_TRUE(reached_);
  EXPECT_EQ(AskRef(*client_, StatOf("d/l")).error, kNoEntry);
}

// "d/s/new" never was: the file is made in the directory after that has left "d". WALK-3, WALK-15.
TEST_F(WalkReason, ADirectoryIsMovedBeforeItsChildIsSampled) {
  options_.path_cache = false;
  Mount();
  Warm(StatOf("d/s/n"));
  At("walk:before-child-sample", 3, [&] {
    Rename("d/s", "s");
    Make(FileType::kRegular, "s/new");
  });
  EXPECT_EQ(AskRcu(*client_, StatOf("d/s/new")).need, NeedRef::kChanged);
  EXPECT_TRUE(reached_);
  EXPECT_EQ(AskRef(*client_, StatOf("d/s/new")).error, kNoEntry);
}

// If the position has changed when a reference is taken, the walk restarts. WALK-1.
TEST_F(WalkReason, APositionThatMovesIsNotResumedFrom) {
  Mount();
  Warm(StatOf("d/s"));
  At("unlazy:after-reference", 1, [&] { Rename("d/s", "s"); });
  EXPECT_EQ(Ask(*client_, StatOf("d/s/n")).error, kNoEntry);
  EXPECT_TRUE(reached_);
}
#endif

TEST_F(WalkReason, ErrorsOfThePathAreAnsweredUnderRcu) {
  Mount();
  Warm(StatOf("d/f"));
  Warm(StatOf("d/l"));
  Answered(StatOf("d/" + std::string(256, 'x')), std::errc::filename_too_long);
  Answered(StatOf("d/f/x"), std::errc::not_a_directory);
  Answered(StatOf("d/f/.."), std::errc::not_a_directory);
  Question question = StatOf("d/l");
  question.flags.no_symlinks = true;
  Answered(question, std::errc::too_many_symbolic_link_levels);
  question = StatOf("d/../..");
  Answered(question);
  question.flags.beneath = true;
  Answered(question, std::errc::cross_device_link);
}

}  // namespace
}  // namespace nfswalk::exits
