// Calls that work on a reference walk under RCU as far as they can, and take it there
// (complete_walk()); with which RPCs they then do their work.
#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "rcu/lock_order.h"
#include "tests/exits/exits.h"
#include "tests/fixtures/thread_calls.h"

namespace nfswalk::exits {
namespace {

template <class T>
std::errc ErrorOf(const Result<T>& result) {
  return result ? kOk : result.error();
}

struct CallRow {
  const char* name;
  PathCall kind;
  std::function<std::errc(Client& client, const Credential& who)> call;
  Calls calls;
  uint64_t walks = 1;  // that go on in ref-walk
};

class CompleteWalk : public Exits {
 protected:
  // A mount that knows d/f, d/l, d/s and that d/n is missing, and may write everywhere.
  void MountWarm() {
    MountAnew();
    if (by_name_) server_->OpenByName();
    for (const char* name : {"d/f", "d/l", "d/s/n", "d/n"}) Warm(StatOf(name));
    Warm(TextOf("d/l"));
    Warm(AccessTo("d/f", kMayRead | kMayWrite));
    Warm(AccessTo("d/s", kMayRead));
    Warm(AccessTo("d", kMayRead));
  }
  // Each on a mount of its own.
  void ExpectEach(const std::vector<CallRow>& rows) {
    for (const CallRow& row : rows) {
      SCOPED_TRACE(row.name);
      MountWarm();
      if (prepare_) prepare_();
      const Stats before = client_->stats();
      EXPECT_EQ(row.call(*client_, me_), kOk);
      EXPECT_EQ(TakeCalls(), row.calls);
      const Stats after = client_->stats();
      for (size_t i = 0; i < kNeedRefCount; ++i) {
        EXPECT_EQ(after.need_ref[i] - before.need_ref[i],
                  NeedRef(i) == NeedRef::kComplete ? row.walks : 0u)
            << NeedRefName(NeedRef(i));
      }
      EXPECT_EQ(Completed(after, row.kind) - Completed(before, row.kind), row.walks);
      EXPECT_EQ(after.ref_walks - before.ref_walks, row.walks);
      if (row.walks == 0) {
        EXPECT_EQ(after.rcu_walks - before.rcu_walks, 1u);
      }
    }
  }
  static uint64_t Completed(const Stats& stats, PathCall call) {
    return stats
        .need_ref_of_call[static_cast<size_t>(call)][static_cast<size_t>(NeedRef::kComplete)];
  }
  static CallRow OpenOf(const char* path, Calls calls) {
    return {path, PathCall::kOpen,
            [path](Client& client, const Credential& who) {
              return ErrorOf(client.Open(path, kMayRead, who));
            },
            std::move(calls)};
  }
  static CallRow CreateOf(const char* name, const char* path, bool exclusive, Calls calls) {
    return {name, PathCall::kCreate,
            [path, exclusive](Client& client, const Credential& who) {
              return ErrorOf(client.Create(path, 0644, exclusive, who));
            },
            std::move(calls)};
  }
  static std::vector<CallRow> Changes() {
    return {
        CreateOf("O_EXCL", "d/n", true, {"CREATE n"}),
        CreateOf("O_CREAT", "d/n", false, {"CREATE n"}),
        CreateOf("O_CREAT of a file", "d/f", false, {"GETATTR 3"}),
        CreateOf("O_CREAT through a link", "d/l", false, {"GETATTR 3"}),
        {"mkdir",
         PathCall::kCreate,
         [](Client& client, const Credential& who) {
           return ErrorOf(client.MakeDirectory("d/n", 0755, who));
         },
         {"MKDIR n"}},
        {"symlink",
         PathCall::kCreate,
         [](Client& client, const Credential& who) {
           return ErrorOf(client.MakeSymlink("f", "d/n", who));
         },
         {"SYMLINK n"}},
        {"mknod",
         PathCall::kCreate,
         [](Client& client, const Credential& who) {
           return ErrorOf(client.MakeNode("d/n", FileType::kFifo, 0600, {}, who));
         },
         {"MKNOD n"}},
        {"link",
         PathCall::kLink,
         [](Client& client, const Credential& who) { return client.Link("d/f", "d/n", who); },
         {"LINK n"},
         2},
        {"rename",
         PathCall::kRename,
         [](Client& client, const Credential& who) { return client.Rename("d/f", "d/n", who); },
         {"RENAME f"},
         2},
        {"unlink",
         PathCall::kRemove,
         [](Client& client, const Credential& who) { return client.Unlink("d/f", who); },
         {"REMOVE f"}},
        {"rmdir",
         PathCall::kRemove,
         [](Client& client, const Credential& who) { return client.RemoveDirectory("d/s", who); },
         {"RMDIR s"}},
        {"rmdir with a slash",
         PathCall::kRemove,
         [](Client& client, const Credential& who) {
           (void)client.Stat("d/s/n", who);  // the path cache then has "d/s/"
           return client.RemoveDirectory("d/s/", who);
         },
         {"RMDIR s"}},
        {"setattr",
         PathCall::kSetAttributes,
         [](Client& client, const Credential& who) {
           return ErrorOf(client.SetAttributesOf("d/f", {.mode = 0600}, who));
         },
         {"SETATTR 3"}},
    };
  }

  bool by_name_ = false;
  std::function<void()> prepare_;
};

// WALK-29.
TEST_F(CompleteWalk, AChangeOfAWarmPathSendsTheChangeAlone) {
  for (const bool path_cache : {true, false}) {
    options_.path_cache = path_cache;
    ExpectEach(Changes());
  }
}

// NAME-8.
TEST_F(CompleteWalk, ACreateDoesNotValidateTheAbsenceOfItsName) {
  prepare_ = [this] { NoticeChangeOf(kD, "d"); };
  for (const auto lookupcache : {LookupCache::kAll, LookupCache::kPositive}) {
    options_.lookupcache = lookupcache;
    ExpectEach({CreateOf("O_EXCL", "d/n", true, {"CREATE n"}),
                CreateOf("O_CREAT", "d/n", false, {"CREATE n"})});
  }
}

// The negative name was wrong: the CREATE tells.
TEST_F(CompleteWalk, ACreateFindsAFileThatAnotherClientMade) {
  MountWarm();
  server_->Add(kD, "n", FileType::kRegular);
  Notice("d");
  Warm(AccessTo("d", kMayExecute));
  const auto found = client_->Create("d/n", 0644, /*exclusive=*/false, me_);
  EXPECT_EQ(ErrorOf(found), kOk);
  const Calls calls = TakeCalls();
  EXPECT_EQ(calls.count("CREATE n"), 1u);
  EXPECT_EQ(calls.count("LOOKUP n"), 0u);
}

// NAME-8. The CREATE does not tell whether it made the file, and a server need not check the
// rights.
TEST_F(CompleteWalk, AFileThatDoesNotLookNewIsOpenedWithItsRights) {
  MountWarm();
  const uint64_t theirs = server_->Add(kD, "n", FileType::kRegular);
  EXPECT_EQ(ErrorOf(client_->CreateAndOpen("d/n", kMayWrite, 0644, /*exclusive=*/false, me_)), kOk);
  const Calls calls = TakeCalls();
  EXPECT_EQ(calls.count("CREATE n"), 1u);
  EXPECT_EQ(calls.count("ACCESS " + std::to_string(theirs)), 1u);
}

// NAME-8. A server need not look first whether the name exists.
TEST_F(CompleteWalk, ACreateThatIsRefusedFindsAFileThatAnotherClientMade) {
  for (const std::errc refusal : {std::errc::permission_denied, std::errc::read_only_file_system}) {
    for (const bool exists : {true, false}) {
      MountWarm();
      if (exists) server_->Add(kD, "n", FileType::kRegular);
      protocol_->Fail("CREATE", refusal);
      const auto found = client_->Create("d/n", 0644, /*exclusive=*/false, me_);
      EXPECT_EQ(ErrorOf(found), exists ? kOk : refusal);
      const Calls calls = TakeCalls();
      EXPECT_EQ(calls.count("CREATE n"), 1u);
      EXPECT_EQ(calls.count("LOOKUP n"), 1u);
    }
  }
}

// NAME-5.
TEST_F(CompleteWalk, AnOpenOfAWarmPathSendsOneRpc) {
  ExpectEach({OpenOf("d/f", {"GETATTR 3"}), OpenOf("d/l", {"GETATTR 3"})});
}

TEST_F(CompleteWalk, AnOpenThatSendsNothingEndsUnderRcu) {
  options_.nocto = true;
  for (CallRow row : {OpenOf("d/f", {}), OpenOf("d/l", {})}) {
    row.walks = 0;
    ExpectEach({row});
  }
  CallRow truncates = OpenOf("d/f", {"SETATTR 3"});
  truncates.call = [](Client& client, const Credential& who) {
    return ErrorOf(client.Open("d/f", kMayWrite | kTruncate, who));
  };
  ExpectEach({truncates});
}

// A hit costs what the File is made of.
TEST_F(CompleteWalk, AnOpenThatSendsNothingAllocatesOnceAndTakesNoLock) {
  options_.nocto = true;
  MountWarm();
  const auto open_and_close = [&] { EXPECT_EQ(ErrorOf(client_->Open("d/f", kMayRead, me_)), kOk); };
  open_and_close();
  const uint64_t allocations = fixtures::ThreadAllocations();
  const uint64_t pthread_locks = fixtures::ThreadPthreadLocks();
  const uint64_t spin_locks = rcu::ThreadLockCount();
  open_and_close();
  EXPECT_EQ(fixtures::ThreadAllocations() - allocations, 1u);
  EXPECT_EQ(fixtures::ThreadPthreadLocks() - pthread_locks, 0u);
  EXPECT_EQ(rcu::ThreadLockCount() - spin_locks, 0u);
}

TEST_F(CompleteWalk, AnOpenThatSendsNothingAsksWhatItDoubts) {
  options_.nocto = true;
  MountWarm();
  InvalidateAttributes("d/f");
  EXPECT_EQ(ErrorOf(client_->Open("d/f", kMayRead, me_)), kOk);
  EXPECT_EQ(TakeCalls(), Calls{"GETATTR 3"});
  EXPECT_EQ(ErrorOf(client_->Open("d", kMayRead, me_)), std::errc::is_a_directory);
  EXPECT_EQ(TakeCalls(), Calls{});
}

// NAME-15.
TEST_F(CompleteWalk, AnOpenByNameSendsTheOpenAlone) {
  by_name_ = true;
  ExpectEach({OpenOf("d/f", {"OPEN f"}), OpenOf("d/l", {"OPEN f"})});
  options_.nocto = true;
  ExpectEach({OpenOf("d/f", {"OPEN f"})});
}

TEST_F(CompleteWalk, AListingWalksToItsDirectory) {
  ExpectEach({{"readdir",
               PathCall::kReadDir,
               [](Client& client, const Credential& who) {
                 return client.ReadDir("d/s", who, [](const DirectoryEntry&) { return true; });
               },
               {"READDIR 5"}}});
}

TEST_F(CompleteWalk, ExitsAreCountedByCall) {
  MountWarm();
  char text[8];
  const std::pair<PathCall, std::function<std::errc()>> calls[] = {
      {PathCall::kStat, [&] { return ErrorOf(client_->Stat("d/s/x", me_)); }},
      {PathCall::kAccess, [&] { return client_->Access("d/s/x", kMayRead, me_); }},
      {PathCall::kReadLink, [&] { return ErrorOf(client_->ReadLink("d/s/x", text, me_)); }},
      {PathCall::kResolve, [&] { return ErrorOf(client_->Resolve("d/s/x", me_)); }},
  };
  for (const auto& [kind, call] : calls) {
    SCOPED_TRACE(PathCallName(kind));
    client_->DropCaches();
    Warm(StatOf("d/s"));
    Warm(AccessTo("d/s", kMayExecute));
    const Stats before = client_->stats();
    EXPECT_EQ(call(), kNoEntry);
    const Stats after = client_->stats();
    for (size_t of = 0; of < kPathCallCount; ++of) {
      const auto misses = [of](const Stats& stats) {
        return stats.need_ref_of_call[of][static_cast<size_t>(NeedRef::kMiss)];
      };
      EXPECT_EQ(misses(after) - misses(before), PathCall(of) == kind ? 1u : 0u)
          << PathCallName(PathCall(of));
    }
  }
}

TEST_F(CompleteWalk, PathErrorsNeedNoRefWalk) {
  const std::function<std::errc(const std::string&)> calls[] = {
      [this](const std::string& path) { return ErrorOf(client_->Open(path, kMayRead, me_)); },
      [this](const std::string& path) { return ErrorOf(client_->Create(path, 0644, true, me_)); },
      [this](const std::string& path) { return ErrorOf(client_->Create(path, 0644, false, me_)); },
      [this](const std::string& path) { return ErrorOf(client_->MakeDirectory(path, 0755, me_)); },
      [this](const std::string& path) { return ErrorOf(client_->MakeSymlink("t", path, me_)); },
      [this](const std::string& path) { return client_->Link(path, "d/n", me_); },
      [this](const std::string& path) { return client_->Rename(path, "d/n", me_); },
      [this](const std::string& path) { return client_->Unlink(path, me_); },
      [this](const std::string& path) { return client_->RemoveDirectory(path, me_); },
      [this](const std::string& path) {
        return ErrorOf(client_->SetAttributesOf(path, {.mode = 0600}, me_));
      },
      [this](const std::string& path) {
        return client_->ReadDir(path, me_, [](const DirectoryEntry&) { return true; });
      }};
  MountWarm();
  for (const auto& call : calls) {
    const Stats before = client_->stats();
    EXPECT_EQ(call("d/n/x"), kNoEntry);
    EXPECT_EQ(call("d/f/x"), std::errc::not_a_directory);
    EXPECT_EQ(TakeCalls(), Calls{});
    EXPECT_EQ(client_->stats().rcu_walks - before.rcu_walks, 2u);
    EXPECT_EQ(client_->stats().ref_walks, before.ref_walks);
  }
}

#ifndef NDEBUG
// By a removal of its other name, which leaves this one's dentry alone.
TEST_F(CompleteWalk, AnOpenThatSendsNothingLooksAFileUpThatIsUnlinkedMeanwhile) {
  options_.nocto = true;
  MountWarm();
  const auto inode = InodeOf("d/f");
  At("open:registered", 1, [&] { inode->flags.store(icache::kUnlinked); });
  EXPECT_EQ(ErrorOf(client_->Open("d/f", kMayRead, me_)), kOk);
  EXPECT_TRUE(reached_);
  EXPECT_EQ(TakeCalls().count("LOOKUP f"), 1u);
}

// WALK-2.
TEST_F(CompleteWalk, AParentThatMovesWhileItIsTakenIsResolvedAnew) {
  MountWarm();
  At("unlazy:after-reference", 1, [&] { Rename("d/s", "s"); });
  EXPECT_EQ(ErrorOf(client_->MakeDirectory("d/s/new", 0755, me_)), kNoEntry);
  EXPECT_TRUE(reached_);
  EXPECT_EQ(Warm(StatOf("s/new")).count("LOOKUP new"), 1u);
  EXPECT_EQ(Ask(*client_, StatOf("s/new")).error, kNoEntry);
}
#endif

// WALK-1.
TEST_F(CompleteWalk, NotWithWalkRef) {
  options_.walk = WalkMode::kRef;
  MountWarm();
  const Stats before = client_->stats();
  EXPECT_EQ(client_->Unlink("d/f", me_), kOk);
  EXPECT_EQ(client_->stats().rcu_walks, before.rcu_walks);
  EXPECT_EQ(Needs(NeedRef::kComplete), 0u);
}

}  // namespace
}  // namespace nfswalk::exits
