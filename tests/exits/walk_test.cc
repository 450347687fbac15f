// The other hooks and the walk's own reasons (docs/walk.md): attributes (ATTR-1), links (ATTR-15),
// credentials (CRED-2). What RCU mode answers in each state, what references answer and what
// they ask the server.
#include <gtest/gtest.h>

#include "rcu/sync_point.h"
#include "tests/exits/exits.h"

namespace nfswalk::exits {
namespace {

using AttributesFresh = Exits;

// ATTR-1.
TEST_F(AttributesFresh, TheLastNanosecondIsFreshAndTheNextIsNot) {
  options_.acregmin_s = options_.acregmax_s = 3;
  Mount();
  Warm(StatOf("d/f"));
  SteeredClock::Pass(3 * kSecond - 1);
  Answered(StatOf("d/f"));
  SteeredClock::Pass(1);
  Left(StatOf("d/f"), NeedRef::kGetattrRpc, kOk, {"GETATTR 3"});
  Answered(StatOf("d/f"));
}

TEST_F(AttributesFresh, AClockBeforeTheBeginningIsTooLate) {
  Mount();
  Warm(StatOf("d/f"));
  SteeredClock::Set(SteeredClock::Now() - 1);
  Left(StatOf("d/f"), NeedRef::kGetattrRpc, kOk,
       {"ACCESS 1", "ACCESS 2", "GETATTR 3"});  // rights do not hold before they were given either
  Answered(StatOf("d/f"));
}

// ATTR-4.
TEST_F(AttributesFresh, NoacIsNeverFresh) {
  options_.acregmin_s = options_.acregmax_s = options_.acdirmin_s = options_.acdirmax_s = 0;
  Mount();
  Warm(StatOf("d/f"));
  Left(StatOf("d/f"), NeedRef::kGetattrRpc, kOk,
       {"ACCESS 1", "GETATTR 1", "ACCESS 2", "GETATTR 2", "GETATTR 3"});
  Left(StatOf("/"), NeedRef::kGetattrRpc, kOk, {"GETATTR 1"});
}

TEST_F(AttributesFresh, WhatNeedsNoAttributesDoesNotAsk) {
  Mount();
  Warm(AccessTo("d/f", 0));
  InvalidateAttributes("d/f");
  Answered(AccessTo("d/f", 0));
  Answered(TextOf("d/f"), std::errc::invalid_argument);
}

using LinkTextCache = Exits;

TEST_F(LinkTextCache, ATextThatWasNeverReadIsRead) {
  Mount();
  const Question itself = StatOfLink("d/l");
  Warm(itself);
  Warm(StatOf("d/f"));
  Answered(itself);
  Left(StatOf("d/l"), NeedRef::kReadlinkRpc, kOk, {"READLINK 4"});
  EXPECT_EQ(Answered(TextOf("d/l")).text, "f");
  Answered(StatOf("d/l"));
}

TEST_F(LinkTextCache, OldAttributesAreAskedForAndTheTextIsKept) {
  Mount();
  Warm(StatOf("d/l"));
  InvalidateAttributes("d/l");
  Left(TextOf("d/l"), NeedRef::kGetattrRpc, kOk, {"GETATTR 4"});
  InvalidateAttributes("d/l");
  Left(StatOf("d/l"), NeedRef::kGetattrRpc, kOk, {"GETATTR 4"});
  Answered(StatOf("d/l"));
}

// ATTR-15.
TEST_F(LinkTextCache, AChangedLinkIsReadAgain) {
  Mount();
  Warm(TextOf("d/l"));
  server_->SetTarget(kDL, "s");
  InvalidateAttributes("d/l");
  EXPECT_EQ(Left(TextOf("d/l"), NeedRef::kGetattrRpc, kOk, {"GETATTR 4", "READLINK 4"}).text, "s");
  EXPECT_EQ(Answered(TextOf("d/l")).text, "s");
}

TEST_F(LinkTextCache, FreshAttributesOfAChangedLinkDoNotVouchForItsText) {
  Mount();
  Warm(TextOf("d/l"));
  server_->SetTarget(kDL, "s");
  const Question itself = StatOfLink("d/l");
  InvalidateAttributes("d/l");
  Warm(itself);
  EXPECT_EQ(Left(TextOf("d/l"), NeedRef::kReadlinkRpc, kOk, {"READLINK 4"}).text, "s");
}

TEST_F(LinkTextCache, AnErrorIsNotCached) {
  Mount();
  const Question itself = StatOfLink("d/l");
  Warm(itself);
  protocol_->Fail("READLINK", kEio);
  Left(TextOf("d/l"), NeedRef::kReadlinkRpc, kEio, {"READLINK 4"});
  protocol_->Fail("READLINK", kOk);
  Left(TextOf("d/l"), NeedRef::kReadlinkRpc, kOk, {"READLINK 4"});
}

using KnownCredential = Exits;

TEST_F(KnownCredential, OneThatWasNeverSeenNeedsMemory) {
  Mount();
  Left(StatOf("/"), NeedRef::kAllocation, kOk, {});
  Answered(StatOf("/"));
}

TEST_F(KnownCredential, OneThatNobodyUsedForAMinuteMayGo) {
  Mount();
  Warm(StatOf("/"));
  SteeredClock::Pass(60 * kSecond);
  (void)Warm(AccessBy(another_, "/", 0));
  Answered(StatOf("/"));
  SteeredClock::Pass(60 * kSecond + 1);
  (void)Warm(AccessBy(Credential(3, 3), "/", 0));
  Left(StatOf("/"), NeedRef::kAllocation, kOk, {});
}

TEST_F(KnownCredential, DroppedCachesKnowNobody) {
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

// A path may be 4095 bytes long and so may a link's text; the buffer has room for two of them.
// WALK-28.
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
TEST_F(WalkReason, ADirectoryIsMovedBeforeDotDot) {
  Mount();
  Warm(StatOf("d/s/.."));
  At("walk:before-dotdot-check", 1, [&] { Rename("d/s", "s"); });
  EXPECT_EQ(AskRcu(*client_, StatOf("d/s/..")).need, NeedRef::kChanged);
  EXPECT_TRUE(reached_);
  EXPECT_EQ(AskRef(*client_, StatOf("d/s/..")).error, kNoEntry);
}

TEST_F(WalkReason, ALinkIsMovedWhileItsTextIsRead) {
  Mount();
  Warm(StatOf("d/l"));
  At("walk:after-link-text", 1, [&] { Rename("d/l", "l"); });
  EXPECT_EQ(AskRcu(*client_, StatOf("d/l")).need, NeedRef::kChanged);
  EXPECT_TRUE(reached_);
  EXPECT_EQ(AskRef(*client_, StatOf("d/l")).error, kNoEntry);
}

// What is found changed while a reference is taken is not resumed from: the walk begins anew.
// WALK-1.
TEST_F(WalkReason, APositionThatMovesIsNotResumedFrom) {
  Mount();
  Warm(StatOf("d/s"));
  At("unlazy:after-reference", 1, [&] { Rename("d/s", "s"); });
  EXPECT_EQ(Ask(*client_, StatOf("d/s/n")).error, kNoEntry);
  EXPECT_TRUE(reached_);
}
#endif

TEST_F(WalkReason, IsToldWithoutACall) {
  Mount();
  Question question = StatOf("d/f");
  question.flags.cached = true;
  EXPECT_EQ(Ask(*client_, question).error, std::errc::resource_unavailable_try_again);
  EXPECT_EQ(TakeCalls(), Calls{});
  Warm(StatOf("d/f"));
  EXPECT_EQ(Ask(*client_, question).error, kOk);
}

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
