// Permission, rule by rule of docs/rules/access.md: for each state what RCU-walk answers, what
// ref-walk answers, and the calls that takes. See docs/testing.md.
#include <gtest/gtest.h>

#include "access_cache/access_cache.h"
#include "access_cache/access_rights.h"
#include "tests/exits/exits.h"

namespace nfswalk::exits {
namespace {

using access_cache::kServerDelete;
using access_cache::kServerExecute;
using access_cache::kServerExtend;
using access_cache::kServerLookup;
using access_cache::kServerModify;
using access_cache::kServerRead;

constexpr std::errc kDenied = std::errc::permission_denied;

using PermissionCheck = Exits;

// ACCESS-1.
TEST_F(PermissionCheck, AccessSkipsNothing) {
  Mount();
  Warm(StatOf("d/f"));
  Warm(StatOf("d/s"));
  Left(AccessTo("d/f", kMayRead), NeedRef::kAccessRpc, kOk, {"ACCESS 3"});
  Answered(AccessTo("d/f", kMayRead));
  Left(AccessTo("d/s", kMayWrite), NeedRef::kAccessRpc, kOk, {"ACCESS 5"});
  Answered(AccessTo("d/s", kMayWrite));
}

TEST_F(PermissionCheck, ALinkIsFollowedWithoutAskingForRights) {
  server_->Grant(kDL, 0);
  Mount();
  for (const auto& call : Warm(StatOf("d/l"))) EXPECT_NE(call, "ACCESS 4");
  EXPECT_EQ(Answered(StatOf("d/l")).attributes.fileid, kDF);
  for (const auto& call : Warm(TextOf("d/l"))) EXPECT_NE(call, "ACCESS 4");
  EXPECT_EQ(Answered(TextOf("d/l")).text, "f");
}

// The kernel skips ACCESS since 4.x for opens by name; this client sends it, as 3.18 did.
TEST_F(PermissionCheck, AnOpenAsksForRights) {
  server_->Grant(kDF, 0);
  server_->OpenByName();
  options_.nocto = true;
  Mount();
  Warm(StatOf("d/f"));
  const auto file = client_->Open("d/f", kMayRead, me_);
  ASSERT_FALSE(file);
  EXPECT_EQ(file.error(), kDenied);
  EXPECT_EQ(TakeCalls(), (Calls{"OPEN f", "ACCESS 3"}));
}

TEST_F(PermissionCheck, WritingToADirectoryIsLeftToTheOperation) {
  server_->Grant(kD, kServerLookup);
  Mount();
  Warm(StatOf("d/n"));
  EXPECT_TRUE(client_->Create("d/n", 0644, true, me_));  // the server decides
  EXPECT_EQ(TakeCalls(), Calls{"CREATE n"});
}

// ACCESS-2.
TEST_F(PermissionCheck, AFileWithoutAnExecuteBitIsNotExecuted) {
  server_->Edit(kDF, [](auto& attributes) { attributes.mode = 0644; });
  Mount();
  Warm(AccessTo("d/f", kMayExecute));
  Answered(AccessTo("d/f", kMayExecute), kDenied);
  Answered(AccessTo("d/f", kMayRead | kMayWrite));
}

TEST_F(PermissionCheck, ADirectoryNeedsNoExecuteBit) {
  server_->Edit(kD, [](auto& attributes) { attributes.mode = 0600; });
  Mount();
  Warm(StatOf("d/f"));
  Answered(StatOf("d/f"));
  Answered(AccessTo("d", kMayExecute));
}

TEST_F(PermissionCheck, TheExecuteBitIsThatOfFreshAttributes) {
  Mount();
  Warm(AccessTo("d/f", kMayExecute));
  Answered(AccessTo("d/f", kMayExecute));
  server_->Edit(
      kDF, [](auto& attributes) { attributes.mode = 0644; }, true);
  InvalidateAttributes("d/f");
  Left(AccessTo("d/f", kMayExecute), NeedRef::kGetattrRpc, kDenied, {"GETATTR 3", "ACCESS 3"});
  Answered(AccessTo("d/f", kMayExecute), kDenied);
}

// ACCESS-5.
TEST_F(PermissionCheck, ACachedDenialIsAnAnswer) {
  server_->Grant(kDF, kServerRead);
  Mount();
  Warm(AccessTo("d/f", kMayWrite));
  Answered(AccessTo("d/f", kMayWrite), kDenied);
  Answered(AccessTo("d/f", kMayRead));
  Answered(AccessTo("d/f", kMayRead | kMayWrite), kDenied);
}

TEST_F(PermissionCheck, ACachedDenialOfSearchIsAnAnswer) {
  server_->Grant(kD, kServerRead | kServerExecute);
  Mount();
  Warm(StatOf("d/f"));
  Answered(StatOf("d/f"), kDenied);
  Answered(AccessTo("d/.", 0), kDenied);
  Answered(AccessTo("d", kMayRead));
}

using AccessCall = Exits;

// ACCESS-4.
TEST_F(AccessCall, RightsThatAreNotCachedCostAnAccess) {
  for (const WalkMode mode : {WalkMode::kRcuLocked, WalkMode::kRcuPeek, WalkMode::kRcuSearch}) {
    SCOPED_TRACE(WalkModeName(mode));
    options_.walk = mode;
    MountAnew();
    // Inserts the credential, and no rights.
    EXPECT_EQ(Warm(AccessTo("/", 0)), Calls{});
    EXPECT_EQ(Warm(StatOf("/")), Calls{});
    Left(AccessTo("/", kMayRead), NeedRef::kAccessRpc, kOk, {"ACCESS 1"});
    EXPECT_EQ(AskRcu(*client_, AccessTo("/", kMayRead)).need, NeedRef::kNone);
  }
}

TEST_F(AccessCall, AStaleFileIsDroppedAndLookedUpAgain) {
  Mount();
  Warm(StatOf("d/f"));
  protocol_->Fail("ACCESS", protocol::kStale);
  Left(AccessTo("d/f", kMayRead), NeedRef::kAccessRpc, protocol::kStale,
       {"ACCESS 3", "LOOKUP d", "LOOKUP f", "ACCESS 3"});
  protocol_->Fail("ACCESS", kOk);
  Left(AccessTo("d/f", kMayRead), NeedRef::kLookupRpc, kOk, {"LOOKUP f", "ACCESS 3"});
  Answered(AccessTo("d/f", kMayRead));
}

// ATTR-8.
TEST_F(AccessCall, AStaleDirectoryMayComeBack) {
  Mount();
  Warm(StatOf("d"));
  protocol_->Fail("ACCESS", protocol::kStale);
  EXPECT_EQ(AskRef(*client_, AccessTo("d", kMayRead)).error, protocol::kStale);
  protocol_->Fail("ACCESS", kOk);
  Left(AccessTo("d", kMayRead), NeedRef::kGetattrRpc, kOk, {"ACCESS 2"});
  Answered(AccessTo("d", kMayRead));
}

// ACCESS-9.
TEST_F(AccessCall, AnErrorIsNotCached) {
  Mount();
  Warm(StatOf("d/f"));
  protocol_->Fail("ACCESS", kEio);
  Left(AccessTo("d/f", kMayRead), NeedRef::kAccessRpc, kEio, {"ACCESS 3"});
  protocol_->Fail("ACCESS", kOk);
  Left(AccessTo("d/f", kMayRead), NeedRef::kAccessRpc, kOk, {"ACCESS 3"});
}

// ACCESS-3.
TEST_F(AccessCall, TheRawBitsDecide) {
  struct Row {
    uint64_t file;
    uint32_t granted, wanted;
    std::errc error;
  };
  const Row rows[] = {
      {kDS, kServerModify | kServerExtend, kMayWrite, kDenied},
      {kDS, kServerModify | kServerExtend | kServerDelete, kMayWrite, kOk},
      {kDS, kServerExecute, kMayExecute, kDenied},
      {kDS, kServerLookup, kMayExecute, kOk},
      {kDF, kServerModify, kMayWrite, kDenied},
      {kDF, kServerExtend | kServerDelete, kMayWrite, kDenied},
      {kDF, kServerModify | kServerExtend, kMayWrite, kOk},
      {kDF, kServerLookup, kMayExecute, kDenied},
      {kDF, kServerExecute, kMayExecute, kOk},
      {kDF, kServerRead, kMayRead | kMayExecute, kDenied},
  };
  Mount();
  uint32_t uid = 100;
  for (const Row& row : rows) {
    SCOPED_TRACE(uid);
    server_->Grant(row.file, row.granted, ++uid);
    const Question question =
        AccessBy(Credential(uid, 1), row.file == kDS ? "d/s" : "d/f", row.wanted);
    Warm(question);
    Answered(question, row.error);
  }
}

using CachedRights = Exits;

// ACCESS-13.
TEST_F(CachedRights, AtTheLimitTheOldestRightsGo) {
  options_.access_entries_max = 1;
  Mount();
  Warm(AccessTo("/", kMayRead));
  Answered(AccessTo("/", kMayRead));
  Warm(AccessBy(another_, "/", kMayRead));
  Left(AccessTo("/", kMayRead), NeedRef::kAccessRpc, kOk, {"ACCESS 1"});
}

TEST_F(CachedRights, AHitOfTheLockedSearchIsThePeeksNext) {
  options_.walk = WalkMode::kRcuPeek;
  Mount();
  Warm(AccessTo("/", kMayRead));
  Warm(AccessBy(another_, "/", kMayRead));
  (void)AskRcu(*client_, AccessTo("/", kMayRead));
  const uint64_t peeks = client_->stats().peek_hits;
  EXPECT_EQ(AskRcu(*client_, AccessTo("/", kMayRead)).need, NeedRef::kNone);
  EXPECT_EQ(client_->stats().peek_hits, peeks + 1);
}

// ACCESS-7: the first answer after an invalidation is kept.
TEST_F(CachedRights, AChangeInvalidatesTheRightsOfAll) {
  Mount();
  Warm(AccessTo("d/f", kMayRead));
  Warm(AccessBy(another_, "d/f", kMayRead));
  server_->Grant(kDF, 0);
  server_->Edit(kDF, [](auto& attributes) { attributes.mode = 0; });
  InvalidateAttributes("d/f");
  Warm(StatOf("d/f"));
  Left(AccessTo("d/f", kMayRead), NeedRef::kAccessRpc, kDenied, {"ACCESS 3"});
  Answered(AccessTo("d/f", kMayRead), kDenied);
  Left(AccessBy(another_, "d/f", kMayRead), NeedRef::kAccessRpc, kDenied, {"ACCESS 3"});
}

// ACCESS-8: the rights of a reply are those of its attributes, also if these show a change.
TEST_F(CachedRights, TheReplyThatShowsAChangeIsKept) {
  for (const bool listed : {false, true}) {
    SCOPED_TRACE(listed);
    MountAnew();
    const Question mine = AccessTo("d/f", kMayRead), others = AccessBy(another_, "d/f", kMayRead);
    Warm(AccessBy(another_, "d/f", 0));
    Warm(mine);
    if (listed) Warm(AccessBy(Credential(3, 3), "d/f", kMayRead));
    server_->Grant(kDF, 0);
    server_->Edit(kDF, [](auto& attributes) { attributes.mode = 0; });
    Left(others, NeedRef::kAccessRpc, kDenied, {"ACCESS 3"});
    Answered(others, kDenied);
    Left(mine, NeedRef::kAccessRpc, kDenied, {"ACCESS 3"});
  }
}

TEST_F(CachedRights, RightsAreTrustedWhileTheAttributesAre) {
  Mount();
  Warm(AccessTo("d/f", kMayRead));
  Warm(AccessBy(another_, "d/f", kMayRead));
  InvalidateAttributes("d/f");
  Left(AccessTo("d/f", kMayRead), NeedRef::kGetattrRpc, kOk, {"GETATTR 3"});
  Answered(AccessTo("d/f", kMayRead));
  Answered(AccessBy(another_, "d/f", kMayRead));  // one GETATTR refreshed the rights of both
}

using RightsSearch = Exits;

TEST_F(RightsSearch, AnotherCredentialInFrontIsSearchedPast) {
  for (const WalkMode mode : {WalkMode::kRcuLocked, WalkMode::kRcuPeek, WalkMode::kRcuSearch}) {
    SCOPED_TRACE(WalkModeName(mode));
    options_.walk = mode;
    MountAnew();
    Warm(AccessTo("/", kMayRead));
    Warm(AccessBy(another_, "/", kMayRead));
    const Stats before = client_->stats();
    EXPECT_EQ(AskRcu(*client_, AccessTo("/", kMayRead)).need, NeedRef::kNone);
    const Stats after = client_->stats();
    EXPECT_EQ(after.peek_hits, before.peek_hits);
    EXPECT_EQ(after.search_hits - before.search_hits, mode == WalkMode::kRcuSearch);
    EXPECT_EQ(after.locked_hits - before.locked_hits, mode != WalkMode::kRcuSearch);
  }
}

// ACCESS-12: lockless search is bounded.
TEST_F(RightsSearch, BehindMoreCredentialsThanASearchLooksAtTheLockFindsIt) {
  Mount();
  Warm(AccessTo("/", kMayRead));
  for (uint32_t i = 0; i < access_cache::AccessList::kSearchStepsMax; ++i) {
    Warm(AccessBy(Credential(100 + i, 1), "/", kMayRead));
  }
  const uint64_t locked = client_->stats().locked_hits;
  EXPECT_EQ(AskRcu(*client_, AccessTo("/", kMayRead)).need, NeedRef::kNone);
  EXPECT_EQ(client_->stats().locked_hits, locked + 1);
  Answered(AccessTo("/", kMayRead));
}

#ifndef NDEBUG
TEST_F(RightsSearch, RightsGrantedAfterTheSearchBeganAnswerIt) {
  for (const bool listed : {false, true}) {
    SCOPED_TRACE(listed);
    MountAnew();
    Warm(AccessTo("d/f", 0));
    if (listed) {
      Warm(AccessBy(another_, "d/f", kMayRead));
      Warm(AccessBy(Credential(3, 3), "d/f", kMayRead));
    }
    At("permission:between-loads", 1, [&] {
      SteeredClock::Pass(kSecond);
      (void)Ask(*client_, AccessTo("d/f", kMayRead));
    });
    EXPECT_EQ(Warm(AccessTo("d/f", kMayRead)), Calls{"ACCESS 3"});
    EXPECT_TRUE(reached_);
    Answered(AccessTo("d/f", kMayRead));
  }
}
#endif

// Rights expire after an hour, or ac{reg,dir}max if that is longer, however often the attributes
// are confirmed; denials too. This bound replaces the kernel's "clear on login".
class RightsAge : public Exits {
 protected:
  // Leaves "d/f" with fresh attributes, and with rights of `lifetime_s` less 1 ns ago; those of its
  // directories are younger, or live longer.
  void MakeAlmostOld(bool granted, uint32_t acregmax_s, uint64_t lifetime_s) {
    options_.acregmin_s = 3;
    options_.acregmax_s = acregmax_s;
    options_.acdirmin_s = options_.acdirmax_s = acregmax_s == lifetime_s ? 600 : 2 * lifetime_s;
    MountAnew();
    if (!granted) server_->Grant(kDF, 0);
    Warm(AccessTo("d/f", kMayRead));
    SteeredClock::Pass((lifetime_s - 3) * kSecond);
    Warm(StatOf("d/f"));
    SteeredClock::Pass(3 * kSecond - 1);
  }
};

// ACCESS-6.
TEST_F(RightsAge, GrantsAndDenialsEndAtTheirMaximalAge) {
  for (const auto& [granted, acregmax_s, lifetime_s] :
       {std::tuple{true, 60u, 3600u}, std::tuple{false, 60u, 3600u}, std::tuple{true, 7200u, 7200u},
        std::tuple{false, 7200u, 7200u}}) {
    SCOPED_TRACE(testing::Message() << granted << " " << acregmax_s);
    MakeAlmostOld(granted, acregmax_s, lifetime_s);
    const Question question = AccessTo("d/f", kMayRead);
    Answered(question, granted ? kOk : kDenied);
    SteeredClock::Pass(1);
    server_->Grant(kDF, granted ? 0 : protocol::kAccessAll);
    Left(question, NeedRef::kAccessRpc, granted ? kDenied : kOk, {"ACCESS 3"});
    Answered(question, granted ? kDenied : kOk);
  }
}

TEST_F(RightsAge, TheKeyIsTheWholeCredentialInOrder) {
  Mount();
  Warm(AccessBy(Credential(1, 1, {7, 8}), "/", kMayRead));
  for (const Credential& who :
       {Credential(1, 1, {8, 7}), Credential(1, 1, {7}), Credential(1, 7, {7, 8}),
        Credential(2, 1, {7, 8}), Credential(1, 1, {7, 8, 9}), Credential()}) {
    Left(AccessBy(who, "/", kMayRead), NeedRef::kAllocation, kOk, {"ACCESS 1"});
  }
  Answered(AccessBy(Credential(1, 1, {7, 8}), "/", kMayRead));
}

}  // namespace
}  // namespace nfswalk::exits
