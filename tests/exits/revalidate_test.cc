// Dentry revalidation, rule by rule of docs/rules/names.md: what RCU mode answers
// in that state, what references answer and what they ask the server. See docs/exits.md.
#include "nfsclient/nfs/revalidate.h"

#include <gtest/gtest.h>

#include "nfsclient/vfs/name.h"
#include "rcu/sync_point.h"
#include "tests/exits/exits.h"

namespace nfswalk::exits {
namespace {

constexpr std::errc kOk{};
constexpr std::errc kNoEntry = std::errc::no_such_file_or_directory;
constexpr std::errc kEio = std::errc::io_error;
using protocol::kStale;

// nfs_check_verifier.
using Revalidate1_2 = Exits;

// NAME-1.
TEST_F(Revalidate1_2, TheRootIsAlwaysValid) {
  options_.lookupcache = LookupCache::kNone;
  Mount();
  Warm(StatOf("/.."));
  Answered(StatOf("/"));
  Answered(StatOf("/.."));
  NoticeChangeOf(kRoot, "/");
  Answered(StatOf("/"));
}

// NAME-2.
TEST_F(Revalidate1_2, AnotherCookieCostsALookupAndNoGetattr) {
  Mount();
  Warm(StatOf("d/f"));
  Doubt("d/f");  // nor does the age of the child matter: LOOKUP brings its attributes
  NoticeChangeOf(kD, "d");
  Left(StatOf("d/f"), NeedRef::kLookupRpc, kOk, {"LOOKUP f"});
  Answered(StatOf("d/f"));
}

// The search permission looks at the directory's attributes first, hence the reason. NAME-3.
TEST_F(Revalidate1_2, ADirectoryInDoubtIsAskedForAndItsNamesAreNot) {
  Mount();
  Warm(StatOf("d/f"));
  Doubt("d");
  Left(StatOf("d/f"), NeedRef::kGetattrRpc, kOk, {"GETATTR 2"});
  Answered(StatOf("d/f"));
}

TEST_F(Revalidate1_2, ADirectoryThatTheGetattrShowsChangedIsLookedUpIn) {
  Mount();
  Warm(StatOf("d/f"));
  Doubt("d");
  server_->Add(kD, "new", FileType::kRegular);
  Left(StatOf("d/f"), NeedRef::kGetattrRpc, kOk, {"GETATTR 2", "ACCESS 2", "LOOKUP f"});
  Answered(StatOf("d/f"));
}

// NAME-3.
TEST_F(Revalidate1_2, AWalkEndsWithTheErrorOfTheGetattr) {
  Mount();
  Warm(StatOf("d/f"));
  Doubt("d");
  server_->Fail("GETATTR", kEio);
  Left(StatOf("d/f"), NeedRef::kGetattrRpc, kEio, {"GETATTR 2"});
  server_->Fail("GETATTR", kOk);
  Left(StatOf("d/f"), NeedRef::kGetattrRpc, kOk, {"GETATTR 2"});
}

// The hook by itself: a walk has asked for the directory's attributes already.
TEST_F(Revalidate1_2, AnErrorOfTheGetattrReadsAsNoMatch) {
  Mount();
  Warm(StatOf("d/f"));
  vfs::DentryRef directory;
  (void)walk::ResolveRef(superblock(), "d", me_, {}, &walk::RefWalk::Resolve,
                         [&](walk::RefWalk& walk) {
                           directory = walk.position().Copy();
                           return kOk;
                         });
  const vfs::PaddedName name("f", directory.get());
  vfs::DentryRef child = superblock().dentries.Lookup(*directory, name.name());
  Doubt("d");
  server_->Fail("GETATTR", kEio);
  const auto verdict = nfs::RevalidateRef(superblock(), child, name.name(), *directory.inode(), me_,
                                          nfs::LookupIntent::kWalk);
  ASSERT_TRUE(verdict);
  EXPECT_EQ(*verdict, nfs::Verdict::kValid);
  EXPECT_EQ(server_->TakeCalls(), (Calls{"GETATTR 2", "LOOKUP f"}));
}

// nfs_lookup_verify_inode.
using Revalidate1_3 = Exits;

// NAME-4.
TEST_F(Revalidate1_3, TheAgeOfTheChildDoesNotMatter) {
  Mount();
  Warm(AccessTo("d/f", 0));
  Warm(AccessTo("d/s", 0));
  Doubt("d/f");
  Doubt("d/s");
  Answered(AccessTo("d/f", 0));
  Answered(AccessTo("d/s", 0));
  Answered(StatOf("d/f/x"), std::errc::not_a_directory);
  Left(StatOf("d/f"), NeedRef::kGetattrRpc, kOk, {"GETATTR 3"});  // what stat itself wants
}

// NAME-5.
TEST_F(Revalidate1_3, AnOpenAsksForTheFileUnlessNocto) {
  for (const bool nocto : {false, true}) {
    SCOPED_TRACE(nocto);
    options_.nocto = nocto;
    auto server = std::make_unique<ToldServer>();
    ToldServer& told = *server;
    told.Add(kRoot, "f", FileType::kRegular);
    auto client = std::move(*Client::MountOver(std::move(server), options_));
    ASSERT_EQ(client->Access("f", kMayRead, me_), kOk);
    (void)told.TakeCalls();
    const uint64_t rcu_walks = client->stats().rcu_walks;
    EXPECT_TRUE(client->Open("f", kMayRead, me_));
    EXPECT_EQ(told.TakeCalls(), nocto ? Calls{} : Calls{"GETATTR 2"});
    EXPECT_EQ(client->stats().rcu_walks, rcu_walks);  // an open never walks under RCU
  }
}

// NAME-17, WALK-1.
TEST_F(Revalidate1_3, AfterEstaleEveryNameIsAskedForAgain) {
  Mount();
  Warm(StatOf("d/f"));
  Doubt("d/f");
  server_->Fail("GETATTR", kStale);
  Left(StatOf("d/f"), NeedRef::kGetattrRpc, kStale,
       {"GETATTR 3", "LOOKUP d", "LOOKUP f", "GETATTR 3"});
}

// NAME-6.
TEST_F(Revalidate1_3, AFileWithoutLinksIsLookedUp) {
  Mount();
  Warm(StatOf("d/f"));
  server_->Edit(kDF, [](auto& attributes) { attributes.nlink = 0; });
  Doubt("d/f");
  Left(StatOf("d/f"), NeedRef::kGetattrRpc, kOk, {"GETATTR 3"});
  server_->Take(kD, "f");
  Left(StatOf("d/f"), NeedRef::kLookupRpc, kNoEntry, {"LOOKUP f"});
}

// nfs_neg_need_reval.
using Revalidate1_4 = Exits;

// NAME-8.
TEST_F(Revalidate1_4, Row1_ANameThatIsToBeMadeIsNotLookedUp) {
  Mount();
  Warm(StatOf("d/n"));
  Warm(StatOf("d/m"));
  EXPECT_TRUE(client_->Create("d/n", 0644, true, me_));
  EXPECT_EQ(client_->Rename("d/n", "d/m", me_), kOk);
  const Calls calls = server_->TakeCalls();
  for (const auto& call : calls) EXPECT_FALSE(call.starts_with("LOOKUP")) << call;
}

// NAME-9.
TEST_F(Revalidate1_4, Row2_LookupcachePositiveDoesNotBelieveIt) {
  options_.lookupcache = LookupCache::kPositive;
  Mount();
  Warm(StatOf("d/n"));
  Left(StatOf("d/n"), NeedRef::kLookupRpc, kNoEntry, {"LOOKUP n"});
  Left(StatOf("d/n"), NeedRef::kLookupRpc, kNoEntry, {"LOOKUP n"});
}

// NAME-7.
TEST_F(Revalidate1_4, Row4_ItIsBelievedWhileTheCookieFits) {
  Mount();
  Warm(StatOf("d/n"));
  Answered(StatOf("d/n"), kNoEntry);
  Answered(StatOf("d/n/x"), kNoEntry);
  Answered(AccessTo("d/n", 0), kNoEntry);
  Answered(TextOf("d/n"), kNoEntry);
}

TEST_F(Revalidate1_4, Row4_AnotherCookieCostsALookup) {
  Mount();
  Warm(StatOf("d/n"));
  NoticeChangeOf(kD, "d");
  Left(StatOf("d/n"), NeedRef::kLookupRpc, kNoEntry, {"LOOKUP n"});
  Answered(StatOf("d/n"), kNoEntry);
}

TEST_F(Revalidate1_4, Row4_ADirectoryInDoubtIsAskedForAndTheNameIsNot) {
  Mount();
  Warm(StatOf("d/n"));
  Doubt("d");
  Left(StatOf("d/n"), NeedRef::kGetattrRpc, kNoEntry, {"GETATTR 2"});
  Answered(StatOf("d/n"), kNoEntry);
}

// nfs_lookup_revalidate.
using Revalidate1_5 = Exits;

TEST_F(Revalidate1_5, Row3_AStaleInodeIsDroppedWithoutAskingForIt) {
  Mount();
  Warm(StatOf("d/f"));
  nfs::MarkStale(superblock(), *InodeOf("d/f"));
  Left(StatOf("d/f"), NeedRef::kLookupRpc, kOk, {"LOOKUP f"});
  Answered(StatOf("d/f"));
}

// NAME-8.
TEST_F(Revalidate1_5, Row5_AnExclusiveCreateAsksForNothing) {
  Mount();
  Warm(StatOf("d/f"));
  const auto created = client_->Create("d/f", 0644, true, me_);
  ASSERT_FALSE(created);
  EXPECT_EQ(created.error(), std::errc::file_exists);
  EXPECT_EQ(server_->TakeCalls(), Calls{});
}

// NAME-1.
TEST_F(Revalidate1_5, Row6_AMatchIsValid) {
  Mount();
  Warm(StatOf("d/f"));
  EXPECT_EQ(Answered(StatOf("d/f")).attributes.fileid, kDF);
  Answered(StatOf("d/f/"), std::errc::not_a_directory);
}

// NAME-6.
TEST_F(Revalidate1_5, Row7_AMatchWithoutLinksCastsDoubtOnTheDirectory) {
  Mount();
  Warm(StatOf("d/f"));
  Warm(StatOf("d/s"));
  server_->Edit(kDF, [](auto& attributes) { attributes.nlink = 0; });
  Doubt("d/f");
  Warm(StatOf("d/f"));
  server_->Fail("LOOKUP", kEio);
  Left(StatOf("d/f"), NeedRef::kLookupRpc, kEio, {"LOOKUP f"});
  server_->Fail("LOOKUP", kOk);
  Left(StatOf("d/s"), NeedRef::kGetattrRpc, kOk, {"GETATTR 2"});
}

// NAME-10.
TEST_F(Revalidate1_5, Row8_TheSameFileIsValidFromThenOn) {
  Mount();
  Warm(StatOf("d/f"));
  NoticeChangeOf(kD, "d");
  EXPECT_EQ(Left(StatOf("d/f"), NeedRef::kLookupRpc, kOk, {"LOOKUP f"}).attributes.fileid, kDF);
  Answered(StatOf("d/f"));
}

// NAME-10.
TEST_F(Revalidate1_5, Row8_AnotherFileTakesTheNamesPlace) {
  Mount();
  Warm(StatOf("d/f"));
  server_->Take(kD, "f");
  const uint64_t replacement = server_->Add(kD, "f", FileType::kRegular);
  NoticeChangeOf(kD, "d");
  const Answer answer = Left(StatOf("d/f"), NeedRef::kLookupRpc, kOk, {"LOOKUP f", "LOOKUP f"});
  EXPECT_EQ(answer.attributes.fileid, replacement);
  Answered(StatOf("d/f"));
}

// ATTR-7.
TEST_F(Revalidate1_5, Row8_AFileThatIsNotWhatItsHandleSaidIsLookedUpAnew) {
  Mount();
  Warm(StatOf("d/f"));
  server_->Edit(kDF, [](auto& attributes) { attributes.fileid = 777; });
  NoticeChangeOf(kD, "d");
  const Answer answer = Left(StatOf("d/f"), NeedRef::kLookupRpc, kOk, {"LOOKUP f", "LOOKUP f"});
  EXPECT_EQ(answer.attributes.fileid, 777u);
  Answered(StatOf("d/f"));
}

#ifndef NDEBUG
// Renames by another thread, once the walk has sampled "f".
class Revalidate1_5Moving : public Exits {
 protected:
  ~Revalidate1_5Moving() override { rcu::SyncPointScript::ClearAll(); }

  void MoveUnderTheWalk(std::string from, std::string to) {
    Mount();
    Warm(StatOf("d/f"));
    rcu::SyncPointScript::OnReach("walk:after-child-sample", [this, from, to] {
      if (++reached_ != 2) return;  // "d", then "f"
      std::thread([&] { EXPECT_EQ(client_->Rename(from, to, me_), kOk); }).join();
    });
    EXPECT_EQ(AskRcu(*client_, StatOf("d/f")).need, NeedRef::kChanged);
    rcu::SyncPointScript::ClearAll();
    EXPECT_EQ(AskRef(*client_, StatOf("d/f")).error, kNoEntry);
    EXPECT_EQ(AskRef(*client_, StatOf(to == "e" ? "e/f" : to)).error, kOk);
  }

  int reached_ = 0;
};

// NAME-14.
TEST_F(Revalidate1_5Moving, Row9_ANameThatMovesUnderTheWalkIsChanged) {
  MoveUnderTheWalk("d/f", "d/s/f");
}

TEST_F(Revalidate1_5Moving, Row9_ADirectoryThatMovesUnderTheWalkIsChanged) {
  MoveUnderTheWalk("d", "e");
}
#endif

// nfs4_lookup_revalidate: where opening is by name. An open never walks under RCU.
class Revalidate1_6 : public Exits {
 protected:
  Revalidate1_6() { server_->OpenByName(); }

  Calls Open(std::string_view path, std::errc error) {
    auto file = client_->Open(path, kMayRead, me_);
    EXPECT_EQ(file ? kOk : file.error(), error);
    return server_->TakeCalls();
  }
};

// NAME-15.
TEST_F(Revalidate1_6, ARegularFileIsLeftToTheOpen) {
  options_.nocto = true;
  Mount();
  Warm(AccessTo("d/f", kMayRead));
  NoticeChangeOf(kD, "d");
  EXPECT_EQ(Open("d/f", kOk), Calls{"OPEN f"});
  Left(StatOf("d/f"), NeedRef::kLookupRpc, kOk, {"LOOKUP f"});  // nor did it vouch for the name
}

TEST_F(Revalidate1_6, ADirectoryIsLookedUp) {
  Mount();
  Warm(StatOf("d/s"));
  NoticeChangeOf(kD, "d");
  EXPECT_EQ(Open("d/s", std::errc::is_a_directory), Calls{"LOOKUP s"});
}

TEST_F(Revalidate1_6, ANegativeNameIsBelieved) {
  Mount();
  Warm(StatOf("d/n"));
  EXPECT_EQ(Open("d/n", kNoEntry), Calls{});
}

TEST_F(Revalidate1_6, WhatTheOpenFindsStaleIsLookedUpNameByName) {
  Mount();
  Warm(StatOf("d/f"));
  server_->Fail("OPEN", kStale);
  EXPECT_EQ(Open("d/f", kStale), (Calls{"OPEN f", "LOOKUP d", "LOOKUP f", "OPEN f"}));
}

// After a failed revalidation with references.
using Revalidate1_7 = Exits;

// NAME-11.
TEST_F(Revalidate1_7, AnErrorIsReportedAndTheDentryKept) {
  Mount();
  Warm(StatOf("d/f"));
  NoticeChangeOf(kD, "d");
  server_->Fail("LOOKUP", kEio);
  Left(StatOf("d/f"), NeedRef::kLookupRpc, kEio, {"LOOKUP f"});
  server_->Fail("LOOKUP", kOk);
  Left(StatOf("d/f"), NeedRef::kLookupRpc, kOk, {"LOOKUP f"});
}

// NAME-11.
TEST_F(Revalidate1_7, EnoentAndEstaleDropTheDentry) {
  Mount();
  Warm(StatOf("d/f"));
  server_->Take(kD, "f");
  NoticeChangeOf(kD, "d");
  Left(StatOf("d/f"), NeedRef::kLookupRpc, kNoEntry, {"LOOKUP f", "LOOKUP f"});
  Answered(StatOf("d/f"), kNoEntry);
}

TEST_F(Revalidate1_7, TheRootOutlivesEveryFailure) {
  Mount();
  Warm(StatOf("d/f"));
  for (const std::errc error : {kEio, kStale}) {
    Doubt("/");
    server_->Fail("GETATTR", error);
    EXPECT_EQ(AskRef(*client_, StatOf("/")).error, error);
    EXPECT_EQ(AskRcu(*client_, StatOf("/")).need, NeedRef::kGetattrRpc);
    server_->Fail("GETATTR", kOk);
    EXPECT_EQ(AskRef(*client_, StatOf("/")).error, kOk);
    Answered(StatOf("/"));
  }
}

// lookupcache=.
using Revalidate1_8 = Exits;

TEST_F(Revalidate1_8, AllBelievesBoth) {
  Mount();
  Warm(StatOf("d/f"));
  Warm(StatOf("d/n"));
  Answered(StatOf("d/f"));
  Answered(StatOf("d/n"), kNoEntry);
}

TEST_F(Revalidate1_8, PositiveBelievesWhatIsThere) {
  options_.lookupcache = LookupCache::kPositive;
  Mount();
  Warm(StatOf("d/f"));
  Warm(StatOf("d/n"));
  Answered(StatOf("d/f"));
  Left(StatOf("d/n"), NeedRef::kLookupRpc, kNoEntry, {"LOOKUP n"});
}

// NAME-9.
TEST_F(Revalidate1_8, NoneBelievesTheRootOnly) {
  options_.lookupcache = LookupCache::kNone;
  Mount();
  Warm(StatOf("d/f"));
  Warm(StatOf("d/n"));
  Left(StatOf("d/f"), NeedRef::kLookupRpc, kOk, {"LOOKUP d", "LOOKUP f"});
  Left(StatOf("d/n"), NeedRef::kLookupRpc, kNoEntry, {"LOOKUP d", "LOOKUP n"});
  Answered(StatOf("/"));
  Answered(StatOf("./.."));
}

// nfs_weak_revalidate: a walk that ends with a jump.
using Revalidate1_9 = Exits;

// NAME-16.
TEST_F(Revalidate1_9, AJumpEndsAtFreshAttributesOrAsksForThem) {
  Mount();
  Warm(StatOf("d/s/.."));
  Answered(StatOf("d/."));
  Answered(StatOf("d/s/.."));
  Doubt("d");
  Left(StatOf("d/."), NeedRef::kGetattrRpc, kOk, {"GETATTR 2"});
  Doubt("/");
  Left(StatOf("/"), NeedRef::kGetattrRpc, kOk, {"GETATTR 1"});
}

// Once a handle has stood for another file, no later reply makes walkers believe it again, in
// either form.
TEST_F(Revalidate1_9, AJumpToABadInodeIsStaleForGood) {
  Mount();
  Warm(StatOf("d/f"));
  Doubt("/");
  server_->ConfuseNextGetattr(777);
  Left(StatOf("/"), NeedRef::kGetattrRpc, kStale, {"GETATTR 1"});
  Warm(AccessBy(another_, "/", kMayRead));  // a reply that fits
  Left(StatOf("/"), NeedRef::kGetattrRpc, kStale, {});
  Left(StatOf(".."), NeedRef::kGetattrRpc, kStale,
       {"ACCESS 1", "ACCESS 1"});  // asked twice, in vain
}

}  // namespace
}  // namespace nfswalk::exits
