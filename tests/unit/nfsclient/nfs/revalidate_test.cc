// Dentry revalidation, rule by rule of docs/rules/names.md: for each state what RCU-walk answers,
// what ref-walk answers, and the calls that takes. See docs/testing.md.
#include "nfsclient/nfs/revalidate.h"

#include <gtest/gtest.h>

#include <memory>
#include <utility>

#include "nfsclient/vfs/name.h"
#include "rcu/sync_point.h"
#include "tests/exits/exits.h"

namespace nfswalk::exits {
namespace {

using protocol::kStale;

// nfs_check_verifier.
using Verifier = Exits;

// NAME-1.
TEST_F(Verifier, TheRootIsAlwaysValid) {
  options_.lookupcache = LookupCache::kNone;
  Mount();
  Warm(StatOf("/.."));
  Answered(StatOf("/"));
  Answered(StatOf("/.."));
  NoticeChangeOf(kRoot, "/");
  Answered(StatOf("/"));
}

// NAME-2, NAME-10.
TEST_F(Verifier, AnotherChangeIdCostsALookupAndNoGetattr) {
  Mount();
  Warm(StatOf("d/f"));
  InvalidateAttributes("d/f");  // nor does its age matter: LOOKUP returns attributes
  NoticeChangeOf(kD, "d");
  EXPECT_EQ(Left(StatOf("d/f"), NeedRef::kLookupRpc, kOk, {"LOOKUP f"}).attributes.fileid, kDF);
  Answered(StatOf("d/f"));
}

// The search permission checks the directory's attributes first, hence the reason. NAME-3.
TEST_F(Verifier, AnInvalidDirectoryIsAskedForAndItsNamesAreNot) {
  Mount();
  Warm(StatOf("d/f"));
  InvalidateAttributes("d");
  Left(StatOf("d/f"), NeedRef::kGetattrRpc, kOk, {"GETATTR 2"});
  Answered(StatOf("d/f"));
}

TEST_F(Verifier, ADirectoryThatTheGetattrShowsChangedIsLookedUpIn) {
  Mount();
  Warm(StatOf("d/f"));
  InvalidateAttributes("d");
  server_->Add(kD, "new", FileType::kRegular);
  Left(StatOf("d/f"), NeedRef::kGetattrRpc, kOk, {"GETATTR 2", "ACCESS 2", "LOOKUP f"});
  Answered(StatOf("d/f"));
}

// NAME-3.
TEST_F(Verifier, AWalkEndsWithTheErrorOfTheGetattr) {
  Mount();
  Warm(StatOf("d/f"));
  InvalidateAttributes("d");
  protocol_->Fail("GETATTR", kEio);
  Left(StatOf("d/f"), NeedRef::kGetattrRpc, kEio, {"GETATTR 2"});
  protocol_->Fail("GETATTR", kOk);
  Left(StatOf("d/f"), NeedRef::kGetattrRpc, kOk, {"GETATTR 2"});
}

// The hook alone: a walk would have fetched the directory's attributes before.
TEST_F(Verifier, AnErrorOfTheGetattrReadsAsNoMatch) {
  Mount();
  Warm(StatOf("d/f"));
  vfs::DentryRef directory;
  (void)ResolveRef(superblock(), "d", me_, {}, &walk::RefWalk::Resolve, [&](walk::RefWalk& walk) {
    directory = walk.position().Copy();
    return kOk;
  });
  const vfs::PaddedName name("f", directory.get());
  vfs::DentryRef child = superblock().dentries.Lookup(*directory, name.name());
  InvalidateAttributes("d");
  protocol_->Fail("GETATTR", kEio);
  const auto verdict = nfs::RevalidateRef(superblock(), child, name.name(), *directory.inode(), me_,
                                          nfs::LookupIntent::kWalk);
  ASSERT_TRUE(verdict);
  EXPECT_EQ(*verdict, nfs::Verdict::kValid);
  EXPECT_EQ(TakeCalls(), (Calls{"GETATTR 2", "LOOKUP f"}));
}

// nfs_lookup_verify_inode.
using ChildInode = Exits;

// NAME-4.
TEST_F(ChildInode, TheAgeOfTheChildDoesNotMatter) {
  Mount();
  Warm(AccessTo("d/f", 0));
  Warm(AccessTo("d/s", 0));
  InvalidateAttributes("d/f");
  InvalidateAttributes("d/s");
  Answered(AccessTo("d/f", 0));
  Answered(AccessTo("d/s", 0));
  Answered(StatOf("d/f/x"), std::errc::not_a_directory);
  Left(StatOf("d/f"), NeedRef::kGetattrRpc, kOk, {"GETATTR 3"});  // for stat itself
}

// NAME-5.
TEST_F(ChildInode, AnOpenAsksForTheFileUnlessNocto) {
  for (const bool nocto : {false, true}) {
    SCOPED_TRACE(nocto);
    options_.nocto = nocto;
    MountAnew();
    Warm(AccessTo("d/f", kMayRead));
    EXPECT_EQ(Open("d/f"), kOk);
    EXPECT_EQ(TakeCalls(), nocto ? Calls{} : Calls{"GETATTR 3"});
  }
}

// NAME-17, WALK-1.
TEST_F(ChildInode, AfterEstaleEveryNameIsAskedForAgain) {
  Mount();
  Warm(StatOf("d/f"));
  InvalidateAttributes("d/f");
  protocol_->Fail("GETATTR", kStale);
  Left(StatOf("d/f"), NeedRef::kGetattrRpc, kStale,
       {"GETATTR 3", "LOOKUP d", "LOOKUP f", "GETATTR 3"});
}

// NAME-6.
TEST_F(ChildInode, AFileWithoutLinksIsLookedUp) {
  Mount();
  Warm(StatOf("d/f"));
  server_->Edit(kDF, [](auto& attributes) { attributes.nlink = 0; });
  InvalidateAttributes("d/f");
  Left(StatOf("d/f"), NeedRef::kGetattrRpc, kOk, {"GETATTR 3"});
  server_->Take(kD, "f");
  Left(StatOf("d/f"), NeedRef::kLookupRpc, kNoEntry, {"LOOKUP f"});
}

// nfs_neg_need_reval.
using NegativeDentry = Exits;

// NAME-8.
TEST_F(NegativeDentry, ANameThatIsToBeMadeIsNotLookedUp) {
  Mount();
  Warm(StatOf("d/n"));
  Warm(StatOf("d/m"));
  EXPECT_TRUE(client_->Create("d/n", 0644, true, me_));
  EXPECT_EQ(client_->Rename("d/n", "d/m", me_), kOk);
  const Calls calls = TakeCalls();
  for (const auto& call : calls) EXPECT_FALSE(call.starts_with("LOOKUP")) << call;
}

// NAME-9.
TEST_F(NegativeDentry, NotTrustedWithLookupcachePositive) {
  options_.lookupcache = LookupCache::kPositive;
  Mount();
  Warm(StatOf("d/f"));
  Warm(StatOf("d/n"));
  Answered(StatOf("d/f"));
  Left(StatOf("d/n"), NeedRef::kLookupRpc, kNoEntry, {"LOOKUP n"});
  Left(StatOf("d/n"), NeedRef::kLookupRpc, kNoEntry, {"LOOKUP n"});
}

// NAME-7.
TEST_F(NegativeDentry, TrustedWhileChangeIdMatches) {
  Mount();
  Warm(StatOf("d/n"));
  Answered(StatOf("d/n"), kNoEntry);
  Answered(StatOf("d/n/x"), kNoEntry);
  Answered(AccessTo("d/n", 0), kNoEntry);
  Answered(TextOf("d/n"), kNoEntry);
}

TEST_F(NegativeDentry, AnotherChangeIdCostsALookup) {
  Mount();
  Warm(StatOf("d/n"));
  NoticeChangeOf(kD, "d");
  Left(StatOf("d/n"), NeedRef::kLookupRpc, kNoEntry, {"LOOKUP n"});
  Answered(StatOf("d/n"), kNoEntry);
}

TEST_F(NegativeDentry, AnInvalidDirectoryIsAskedForAndTheNameIsNot) {
  Mount();
  Warm(StatOf("d/n"));
  InvalidateAttributes("d");
  Left(StatOf("d/n"), NeedRef::kGetattrRpc, kNoEntry, {"GETATTR 2"});
  Answered(StatOf("d/n"), kNoEntry);
}

// nfs_lookup_revalidate.
using Revalidation = Exits;

TEST_F(Revalidation, AStaleInodeIsDroppedWithoutAskingForIt) {
  Mount();
  Warm(StatOf("d/f"));
  nfs::MarkStale(superblock(), *InodeOf("d/f"));
  Left(StatOf("d/f"), NeedRef::kLookupRpc, kOk, {"LOOKUP f"});
  Answered(StatOf("d/f"));
}

// NAME-8.
TEST_F(Revalidation, AnExclusiveCreateAsksForNothing) {
  Mount();
  Warm(StatOf("d/f"));
  const auto created = client_->Create("d/f", 0644, true, me_);
  ASSERT_FALSE(created);
  EXPECT_EQ(created.error(), std::errc::file_exists);
  EXPECT_EQ(TakeCalls(), Calls{"CREATE f"});
}

// NAME-1.
TEST_F(Revalidation, AMatchIsValid) {
  Mount();
  Warm(StatOf("d/f"));
  EXPECT_EQ(Answered(StatOf("d/f")).attributes.fileid, kDF);
  Answered(StatOf("d/f/"), std::errc::not_a_directory);
}

// NAME-6.
TEST_F(Revalidation, AMatchWithoutLinksInvalidatesTheDirectory) {
  Mount();
  Warm(StatOf("d/f"));
  Warm(StatOf("d/s"));
  server_->Edit(kDF, [](auto& attributes) { attributes.nlink = 0; });
  InvalidateAttributes("d/f");
  Warm(StatOf("d/f"));
  protocol_->Fail("LOOKUP", kEio);
  Left(StatOf("d/f"), NeedRef::kLookupRpc, kEio, {"LOOKUP f"});
  protocol_->Fail("LOOKUP", kOk);
  Left(StatOf("d/s"), NeedRef::kGetattrRpc, kOk, {"GETATTR 2"});
}

// NAME-10.
TEST_F(Revalidation, AnotherFileTakesTheNamesPlace) {
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
TEST_F(Revalidation, AFileThatIsNotWhatItsHandleSaidIsLookedUpAnew) {
  Mount();
  Warm(StatOf("d/f"));
  server_->Edit(kDF, [](auto& attributes) { attributes.fileid = 777; });
  NoticeChangeOf(kD, "d");
  const Answer answer = Left(StatOf("d/f"), NeedRef::kLookupRpc, kOk, {"LOOKUP f", "LOOKUP f"});
  EXPECT_EQ(answer.attributes.fileid, 777u);
  Answered(StatOf("d/f"));
}

// The stat of a node, "".
class NodeRevalidation : public Exits {
 protected:
  void MountAndResolve() {
    Mount();
    Warm(StatOf("d/f"));
    node_ = std::move(*client_->Resolve("d/f", me_));
    file_ = InodeOf("d/f");
    nfs::InvalidateAttributes(superblock(), *file_);
  }
  Calls CallsOfStat() {
    (void)TakeCalls();
    EXPECT_EQ(node_->Stat("", me_).value_or(Attributes{}).fileid, kDF);
    return TakeCalls();
  }

  std::unique_ptr<Node> node_;
  icache::InodeRef file_;
};

// NAME-39.
TEST_F(NodeRevalidation, ANameAndAttributesThatAreNotKnownTakeOneCall) {
  MountAndResolve();
  NoticeChangeOf(kD, "d");
  EXPECT_EQ(CallsOfStat(), Calls{"LOOKUP f"});
  Answered(StatOf("d/f"));
}

TEST_F(NodeRevalidation, KnownNamesAndAttributesAreNotAskedFor) {
  MountAndResolve();
  EXPECT_EQ(CallsOfStat(), Calls{"GETATTR 3"}) << "the name is known";
  NoticeChangeOf(kD, "d");
  EXPECT_EQ(CallsOfStat(), Calls{}) << "the attributes are known";
  InvalidateAttributes("d/f");
  NoticeChangeOf(kD, "d");
  InvalidateAttributes("d");
  EXPECT_EQ(CallsOfStat(), Calls{"GETATTR 3"}) << "whether the name is, the directory has to tell";
}

TEST_F(NodeRevalidation, AFileWhoseNameLeadsElsewhereIsAskedForByItsHandle) {
  MountAndResolve();
  server_->Move(kD, kRoot, "f");
  NoticeChangeOf(kD, "d");
  EXPECT_EQ(CallsOfStat(), (Calls{"LOOKUP f", "GETATTR 3"}));
  InvalidateAttributes("f");
  NoticeChangeOf(kD, "d");
  EXPECT_EQ(CallsOfStat(), Calls{"GETATTR 3"}) << "the name is known to be another's";
}

TEST_F(NodeRevalidation, ANameThatIsAnothersByNowIsNotLookedUp) {
  MountAndResolve();
  server_->Take(kD, "f");
  server_->Add(kD, "f", FileType::kRegular);
  NoticeChangeOf(kD, "d");
  (void)Warm(StatOf("d/f"));
  NoticeChangeOf(kD, "d");
  (void)TakeCalls();
  (void)node_->Stat("", me_);
  EXPECT_EQ(TakeCalls(), Calls{"GETATTR 3"});
}

TEST_F(NodeRevalidation, ADirectoryThatMayNotBeSearchedIsNotAskedFor) {
  MountAndResolve();
  NoticeChangeOf(kD, "d");
  const icache::InodeRef directory = InodeOf("d");
  directory->access.Invalidate();
  EXPECT_EQ(CallsOfStat(), Calls{"GETATTR 3"}) << "not known";
  server_->Grant(kD, 0, me_.uid());
  EXPECT_EQ(client_->Access("d", kMayExecute, me_), std::errc::permission_denied);
  EXPECT_EQ(client_->Stat("d", me_)->fileid, kD);
  nfs::InvalidateAttributes(superblock(), *file_);
  EXPECT_EQ(CallsOfStat(), Calls{"GETATTR 3"});
}

TEST_F(NodeRevalidation, ADirectoryThatIsChangedIsNotWaitedFor) {
  MountAndResolve();
  NoticeChangeOf(kD, "d");
  const icache::InodeRef directory = InodeOf("d");
  const std::string_view text = "g/";
  const vfs::PaddedName name(text.substr(0, 1), nullptr);
  const vfs::InodeLocks::ForChange change(superblock().inode_locks, *directory, name.name());
  EXPECT_TRUE(change);
  EXPECT_EQ(CallsOfStat(), Calls{"GETATTR 3"});
}

TEST_F(NodeRevalidation, ALookupThatIsRefusedIsNoAnswer) {
  MountAndResolve();
  NoticeChangeOf(kD, "d");
  protocol_->Fail("LOOKUP", std::errc::permission_denied);
  EXPECT_EQ(CallsOfStat(), (Calls{"LOOKUP f", "GETATTR 3"}));
}

TEST_F(NodeRevalidation, TheRootHasNoName) {
  Mount();
  node_ = std::move(*client_->Resolve("/", me_));
  InvalidateAttributes("/");
  EXPECT_TRUE(node_->Stat("", me_).has_value());
  EXPECT_EQ(TakeCalls(), Calls{"GETATTR 1"});
}

#ifndef NDEBUG
class RevalidationMoving : public Exits {
 protected:
  // Another thread renames, once the walk has sampled "f".
  void MoveUnderTheWalk(const std::string& from, const std::string& to) {
    Mount();
    Warm(StatOf("d/f"));
    At("walk:after-child-sample", 2, [&] { Rename(from, to); });  // "d", then "f"
    EXPECT_EQ(AskRcu(*client_, StatOf("d/f")).need, NeedRef::kChanged);
    EXPECT_EQ(AskRef(*client_, StatOf("d/f")).error, kNoEntry);
    EXPECT_EQ(AskRef(*client_, StatOf(to == "e" ? "e/f" : to)).error, kOk);
  }
};

// NAME-14.
TEST_F(RevalidationMoving, ANameThatMovesUnderTheWalkIsChanged) {
  MoveUnderTheWalk("d/f", "d/s/f");
}

TEST_F(RevalidationMoving, ADirectoryThatMovesUnderTheWalkIsChanged) { MoveUnderTheWalk("d", "e"); }
#endif

// nfs4_lookup_revalidate, for opens by name. An open never uses RCU-walk.
class OpenRevalidation : public Exits {
 protected:
  OpenRevalidation() { server_->OpenByName(); }

  Calls CallsOfOpen(std::string_view path, std::errc error) {
    EXPECT_EQ(Open(path), error);
    return TakeCalls();
  }
};

// NAME-15.
TEST_F(OpenRevalidation, ARegularFileIsLeftToTheOpen) {
  options_.nocto = true;
  Mount();
  Warm(AccessTo("d/f", kMayRead));
  NoticeChangeOf(kD, "d");
  EXPECT_EQ(CallsOfOpen("d/f", kOk), Calls{"OPEN f"});
  Left(StatOf("d/f"), NeedRef::kLookupRpc, kOk, {"LOOKUP f"});  // nor did it validate the name
}

TEST_F(OpenRevalidation, ADirectoryIsLookedUp) {
  Mount();
  Warm(StatOf("d/s"));
  NoticeChangeOf(kD, "d");
  EXPECT_EQ(CallsOfOpen("d/s", std::errc::is_a_directory), Calls{"LOOKUP s"});
}

TEST_F(OpenRevalidation, ANegativeDentryIsTrusted) {
  Mount();
  Warm(StatOf("d/n"));
  EXPECT_EQ(CallsOfOpen("d/n", kNoEntry), Calls{});
}

TEST_F(OpenRevalidation, StalePathIsLookedUpNameByName) {
  Mount();
  Warm(StatOf("d/f"));
  protocol_->Fail("OPEN", kStale);
  EXPECT_EQ(CallsOfOpen("d/f", kStale), (Calls{"OPEN f", "LOOKUP d", "LOOKUP f", "OPEN f"}));
}

// After a failed revalidation by ref-walk.
using FailedRevalidation = Exits;

// NAME-11.
TEST_F(FailedRevalidation, AnErrorIsReportedAndTheDentryKept) {
  Mount();
  Warm(StatOf("d/f"));
  NoticeChangeOf(kD, "d");
  protocol_->Fail("LOOKUP", kEio);
  Left(StatOf("d/f"), NeedRef::kLookupRpc, kEio, {"LOOKUP f"});
  protocol_->Fail("LOOKUP", kOk);
  Left(StatOf("d/f"), NeedRef::kLookupRpc, kOk, {"LOOKUP f"});
}

// NAME-11.
TEST_F(FailedRevalidation, EnoentAndEstaleDropTheDentry) {
  Mount();
  Warm(StatOf("d/f"));
  server_->Take(kD, "f");
  NoticeChangeOf(kD, "d");
  Left(StatOf("d/f"), NeedRef::kLookupRpc, kNoEntry, {"LOOKUP f", "LOOKUP f"});
  Answered(StatOf("d/f"), kNoEntry);
}

// lookupcache=.
using Lookupcache = Exits;

// NAME-9.
TEST_F(Lookupcache, NoneTrustsTheRootOnly) {
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
using JumpRevalidation = Exits;

// NAME-16.
TEST_F(JumpRevalidation, AJumpEndsAtFreshAttributesOrAsksForThem) {
  Mount();
  Warm(StatOf("d/s/.."));
  Answered(StatOf("d/."));
  Answered(StatOf("d/s/.."));
  InvalidateAttributes("d");
  Left(StatOf("d/."), NeedRef::kGetattrRpc, kOk, {"GETATTR 2"});
  InvalidateAttributes("/");
  Left(StatOf("/"), NeedRef::kGetattrRpc, kOk, {"GETATTR 1"});
}

// Once a handle has denoted another file, no later reply makes the inode valid again for either
// walk.
TEST_F(JumpRevalidation, AJumpToABadInodeIsStaleForGood) {
  Mount();
  Warm(StatOf("d/f"));
  InvalidateAttributes("/");
  server_->ConfuseNextGetattr(777);
  Left(StatOf("/"), NeedRef::kGetattrRpc, kStale, {"GETATTR 1"});
  Warm(AccessBy(another_, "/", kMayRead));  // a reply that matches
  Left(StatOf("/"), NeedRef::kGetattrRpc, kStale, {});
  Left(StatOf(".."), NeedRef::kGetattrRpc, kStale,
       {"ACCESS 1", "ACCESS 1"});  // two calls, to no avail
}

}  // namespace
}  // namespace nfswalk::exits
