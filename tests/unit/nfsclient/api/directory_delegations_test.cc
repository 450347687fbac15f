// Directories that the server delegates: what names, listings and attributes cost then, when one is
// asked for, what ends it, and that nothing is answered from one that has ended.
#include <gtest/gtest.h>
#include <time.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "nfsclient/nfs4/operation_names.h"
#include "rcu/sync_point.h"
#include "tests/exits/steered_clock.h"
#include "tests/fixtures/client_internals.h"
#include "tests/unit/nfsclient/api/delegating_server.h"

namespace nfswalk {
namespace {

using protocol::FakeFault;
using protocol::FakeNode;
using protocol::kOpGetDirDelegation;
using Grants = protocol::FakeNfs4::DirectoryGrants;

constexpr std::errc kNoEntry = std::errc::no_such_file_or_directory;

// "d", which has "f" and "g".
class DirectoryDelegationsTest : public DelegatingServer {
 protected:
  explicit DirectoryDelegationsTest(uint32_t minor_version = 1) : DelegatingServer(minor_version) {
    nfs4_.GrantDirectories(Grants::kGranted);
    options_.acdirmin_s = 0;  // directories live by delegations alone
    timespec now{};
    clock_gettime(CLOCK_MONOTONIC, &now);  // of the lease
    exits::SteeredClock::Set(static_cast<uint64_t>(now.tv_sec) * exits::kSecond);
  }

  void PutTree() {
    const FakeNode directory{.type = FakeNode::Type::kDirectory, .mode = 0777};
    server_.Put("d", directory);
    for (const char* file : {"d/f", "d/g"}) server_.Put(file, {.mode = 0666, .data = "old"});
  }
  // The root and "d" are delegated: the walk has come there again. That of "d" is the last one.
  void MountDelegated() {
    PutTree();
    MountCallable();
    for (int i = 0; i < 2; ++i) EXPECT_EQ(Stat("d/f"), kOk);
    ASSERT_EQ(nfs4_.delegations(), 2u);
  }
  std::errc Stat(const std::string& path) {
    const auto found = client_->Stat(path, kUser);
    return found ? kOk : found.error();
  }
  struct Calls {
    int lookups, rights, attributes, listings;
    friend bool operator==(const Calls&, const Calls&) = default;
  };
  Calls Count() {
    return {calls(OP_LOOKUP), calls(OP_ACCESS), calls(OP_GETATTR), calls(OP_READDIR)};
  }
  // As a server before another client's change in "d".
  void RecallAnd(const std::function<void()>& change) {
    const int returns = calls(OP_DELEGRETURN);
    EXPECT_EQ(CallBack(nfs4_.LastRecall()), NFS4_OK);
    server_.AwaitCalls(OP_DELEGRETURN, returns + 1);
    change();
  }
};

// DELEG-1, DELEG-7.
TEST_F(DirectoryDelegationsTest, NamesAndAttributesOfADelegatedDirectoryCostNothing) {
  MountDelegated();
  EXPECT_EQ(Stat("d/none"), kNoEntry);
  const Calls before = Count();
  for (int i = 0; i < 10; ++i) {
    EXPECT_EQ(Stat("d"), kOk);
    EXPECT_EQ(Stat("d/none"), kNoEntry);
  }
  EXPECT_EQ(Count(), before);
  EXPECT_EQ(Stat("d/f"), kOk);
  EXPECT_EQ(calls(OP_LOOKUP), before.lookups);
  EXPECT_EQ(calls(OP_ACCESS), before.rights);
  EXPECT_EQ(calls(OP_GETATTR), before.attributes + 1) << "the file's are not delegated";
}

TEST_F(DirectoryDelegationsTest, OpensOfDelegatedFilesInADelegatedDirectoryCostNothing) {
  MountDelegated();
  const auto open = [&] { EXPECT_TRUE(client_->Open("d/f", kMayRead, kUser).has_value()); };
  for (int i = 0; i < 2; ++i) open();
  EXPECT_EQ(nfs4_.delegations(), 3u);
  const Calls before = Count();
  const int opens = calls(OP_OPEN);
  for (int i = 0; i < 10; ++i) open();
  EXPECT_EQ(Count(), before);
  EXPECT_EQ(calls(OP_OPEN), opens);
}

TEST_F(DirectoryDelegationsTest, ADelegatedDirectoryIsOpenedWithoutTheServer) {
  MountDelegated();
  const auto open = [&] { return std::move(*client_->OpenDirectory("d", kUser)); };
  std::vector<std::string> names;
  EXPECT_EQ(open()->Read(0,
                         [&](const DirectoryEntry& entry) {
                           names.push_back(entry.name);
                           return true;
                         }),
            kOk);
  EXPECT_EQ(names, (std::vector<std::string>{"f", "g"}));
  const Calls before = Count();
  EXPECT_TRUE(open()->is_unchanged());
  EXPECT_EQ(Count(), before);
}

// DELEG-3, DELEG-7.
TEST_F(DirectoryDelegationsTest, NothingIsAnsweredFromOneThatWasRecalled) {
  for (const bool path_cache : {false, true}) {
    options_.path_cache = path_cache;
    MountDelegated();
    for (int i = 0; i < 5; ++i) {
      EXPECT_EQ(Stat("d/f"), kOk);
      EXPECT_EQ(Stat("d/none"), kNoEntry);
    }
    EXPECT_EQ(client_->stats().path_hits != 0, path_cache);
    RecallAnd([&] {
      server_.Erase("d/f");
      server_.Put("d/none", {});
    });
    EXPECT_EQ(Stat("d/none"), kOk);  // the first, as the server is asked about nothing else
    EXPECT_EQ(Stat("d/f"), kNoEntry);
    server_.Erase("d/none");
    client_ = nullptr;
  }
}

TEST_F(DirectoryDelegationsTest, OurOwnChangesKeepOne) {
  MountDelegated();
  EXPECT_EQ(Stat("d/g"), kOk);
  const int returns = calls(OP_DELEGRETURN);
  EXPECT_TRUE(client_->Create("d/made", 0644, true, kUser).has_value());
  EXPECT_EQ(client_->Rename("d/made", *client_, "d/moved", kUser), kOk);
  EXPECT_EQ(client_->Unlink("d/moved", kUser), kOk);
  const int lookups = calls(OP_LOOKUP);
  for (const char* name : {"d/f", "d/g"}) EXPECT_EQ(Stat(name), kOk);
  EXPECT_EQ(calls(OP_LOOKUP), lookups);
  EXPECT_EQ(calls(OP_DELEGRETURN), returns);
  EXPECT_EQ(nfs4_.delegations(), 2u);
}

// DELEG-7.
TEST_F(DirectoryDelegationsTest, ADirectoryIsRemovedOnceItsDelegationIsReturned) {
  MountDelegated();
  for (const char* file : {"d/f", "d/g"}) EXPECT_EQ(client_->Unlink(file, kUser), kOk);
  server_.Before(OP_REMOVE, [&] { EXPECT_EQ(nfs4_.delegations(), 1u); });
  EXPECT_EQ(client_->RemoveDirectory("d", kUser), kOk);
  EXPECT_EQ(nfs4_.delegations(), 1u) << "the root's";
}

// This server renames no directories.
TEST_F(DirectoryDelegationsTest, ADirectoryIsReplacedOnceItsDelegationIsReturned) {
  MountDelegated();
  EXPECT_TRUE(client_->MakeDirectory("other", 0755, kUser).has_value());
  bool is_sent = false;
  server_.Before(OP_RENAME, [&] {
    is_sent = true;
    EXPECT_EQ(nfs4_.delegations(), 1u);
  });
  EXPECT_NE(client_->Rename("other", *client_, "d", kUser), kOk);
  EXPECT_TRUE(is_sent);
}

// Another client has removed it: the server calls for that of its parent alone.
TEST_F(DirectoryDelegationsTest, ADirectoryThatIsGoneHasNone) {
  MountDelegated();
  const auto node = std::move(*client_->Resolve("d", kUser));
  for (const char* name : {"d/f", "d/g", "d"}) server_.Erase(name);
  EXPECT_TRUE(node->Stat("", kUser).has_value()) << "not known";
  exits::SteeredClock::Pass(3'600 * exits::kSecond);
  const auto found = node->Stat("", kUser);
  ASSERT_FALSE(found.has_value());
  EXPECT_EQ(found.error(), protocol::kStale);
  while (client_->transport_stats().delegations.held != 1) std::this_thread::yield();  // the root's
}

// A lease time or two.
TEST_F(DirectoryDelegationsTest, OneThatIsOfNoUseIsReturnedAndOneThatIsIsKept) {
  nfs4_.set_lease_seconds(1);
  const FakeNode directory{.type = FakeNode::Type::kDirectory, .mode = 0777};
  server_.Put("idle", directory);
  server_.Put("idle/f", {});
  PutTree();
  MountCallable();
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(Stat("idle/f"), kOk);
    EXPECT_EQ(Stat("d/f"), kOk);
  }
  const int asked = calls(kOpGetDirDelegation);
  EXPECT_EQ(asked, 3);
  while (calls(OP_DELEGRETURN) == 0) EXPECT_EQ(Stat("d/f"), kOk);
  EXPECT_EQ(nfs4_.delegations(), 2u);
  for (int i = 0; i < 10; ++i) EXPECT_EQ(Stat("d/f"), kOk);
  EXPECT_EQ(calls(kOpGetDirDelegation), asked);
}

// DELEG-7: asked for where a directory is used again, and not before.
TEST_F(DirectoryDelegationsTest, NoneIsAskedForOfADirectoryThatIsUsedOnce) {
  PutTree();
  MountCallable();
  EXPECT_EQ(Stat("d/f"), kOk);
  EXPECT_EQ(calls(kOpGetDirDelegation), 0);
}

TEST_F(DirectoryDelegationsTest, AServerWithoutThemIsAskedOnce) {
  nfs4_.GrantDirectories(Grants::kNotSupported);
  PutTree();
  MountCallable();
  for (int i = 0; i < 5; ++i) EXPECT_EQ(Stat("d/f"), kOk);
  EXPECT_EQ(calls(kOpGetDirDelegation), 1);
}

TEST_F(DirectoryDelegationsTest, ARefusedOneIsNotAskedForAgainSoon) {
  nfs4_.GrantDirectories(Grants::kUnavailable);
  PutTree();
  MountCallable();
  for (int i = 0; i < 5; ++i) EXPECT_EQ(Stat("d/f"), kOk);
  EXPECT_EQ(calls(kOpGetDirDelegation), 2) << "of the root and of \"d\"";
  EXPECT_EQ(client_->transport_stats().delegations.refused, 2u);
  nfs4_.GrantDirectories(Grants::kGranted);
  exits::SteeredClock::Pass(60 * exits::kSecond);
  EXPECT_EQ(Stat("d/f"), kOk);
  EXPECT_EQ(nfs4_.delegations(), 2u);
}

TEST_F(DirectoryDelegationsTest, AnErrorOfTheDelegationIsNoErrorOfTheCall) {
  for (const int status : {NFS4ERR_DELAY, NFS4ERR_ACCESS, NFS4ERR_INVAL, NFS4ERR_RESOURCE}) {
    SCOPED_TRACE(status);
    PutTree();
    MountCallable();
    nfs4_.Inject(kOpGetDirDelegation, {.status = status}, 2);
    for (int i = 0; i < 3; ++i) EXPECT_EQ(Stat("d/f"), kOk);
    EXPECT_EQ(nfs4_.delegations(), 0u);
    nfs4_.ClearFaults();
    client_ = nullptr;
  }
}

TEST_F(DirectoryDelegationsTest, OneWhoseAttributesAreNotKnownIsReturned) {
  PutTree();
  MountCallable();
  EXPECT_EQ(Stat("d/f"), kOk);
  server_.Before(kOpGetDirDelegation, [&] { nfs4_.Inject(OP_GETATTR, {.status = NFS4ERR_IO}, 1); });
  EXPECT_EQ(Stat("d/f"), kOk);
  EXPECT_EQ(calls(OP_DELEGRETURN), 1);
  EXPECT_EQ(nfs4_.delegations(), 1u) << "that of \"d\"";
}

// DELEG-4.
TEST_F(DirectoryDelegationsTest, ARecallMayComeBeforeTheGrant) {
  PutTree();
  MountCallable();
  EXPECT_EQ(Stat("f"), kOk);
  server_.Before(kOpGetDirDelegation, [&] {
    EXPECT_EQ(CallBack(nfs4_.LastRecall(/*next=*/true)), NFS4ERR_BAD_STATEID);
  });
  EXPECT_EQ(Stat("f"), kOk);
  server_.AwaitCalls(OP_DELEGRETURN, 1);
  server_.Erase("f");
  EXPECT_EQ(Stat("f"), kNoEntry);
}

TEST_F(DirectoryDelegationsTest, ARecallMayComeWhileTheGrantIsTakenIn) {
  PutTree();
  MountCallable();
  EXPECT_EQ(Stat("f"), kOk);
  rcu::SyncPointScript::OnReach("delegation:watched", [&] {
    rcu::SyncPointScript::ClearAll();
    EXPECT_EQ(CallBack(nfs4_.LastRecall()), NFS4_OK);
  });
  EXPECT_EQ(Stat("f"), kOk);
  server_.AwaitCalls(OP_DELEGRETURN, 1);
  server_.Erase("f");
  EXPECT_EQ(Stat("f"), kNoEntry);
}

// A walk that was under way when the recall came may end with what was true before; the next one
// may not.
TEST_F(DirectoryDelegationsTest, ARecallMayComeDuringAWalk) {
  for (const char* place :
       {"walk:before-child-sample", "walk:after-child-sample", "walk:before-confirm"}) {
    SCOPED_TRACE(place);
    MountDelegated();
    EXPECT_EQ(Stat("d/none"), kNoEntry);
    bool reached = false;
    rcu::SyncPointScript::OnReach(place, [&] {
      rcu::SyncPointScript::ClearAll();
      reached = true;
      RecallAnd([&] { server_.Put("d/none", {}); });
    });
    (void)Stat("d/none");
    EXPECT_TRUE(reached);
    EXPECT_EQ(Stat("d/none"), kOk);
    rcu::SyncPointScript::ClearAll();
    server_.Erase("d/none");
    client_ = nullptr;
  }
}

// DELEG-5.
TEST_F(DirectoryDelegationsTest, AllEndWhereTheServerMayHaveCalledInVain) {
  const std::pair<const char*, std::function<void()>> rows[] = {
      {"the connection ends",
       [&] { nfs4_.server().SendBytes(channel_.connection, "GET / HTTP/1.1\r\n\r\n"); }},
      {"CB_PATH_DOWN", [&] { SetFlags(0x1); }},
      {"RECALLABLE_STATE_REVOKED", [&] { SetFlags(0x40); }},
      {"the session ends", [&] { nfs4_.EndSessions(); }},
      {"the lease ends", [&] { nfs4_.ExpireLeases(); }},
      {"the server restarts", [&] { nfs4_.Restart(/*grace=*/false); }},
  };
  for (const auto& [what, happens] : rows) {
    SCOPED_TRACE(what);
    PutTree();
    MountCallable();
    for (int i = 0; i < 2; ++i) EXPECT_EQ(Stat("d/f"), kOk);
    EXPECT_EQ(client_->transport_stats().delegations.held, 2u);
    nfs4_.GrantDirectories(Grants::kUnavailable);
    happens();
    server_.Erase("d/f");
    while (client_->transport_stats().delegations.held != 0) {
      (void)client_->GetSpace("f", kUser);  // asks the server
    }
    EXPECT_EQ(Stat("d/f"), kNoEntry);
    nfs4_.GrantDirectories(Grants::kGranted);
    SetFlags(0);
    client_ = nullptr;
    bindings_ = server_.calls(protocol::kOpBindConnToSession);
  }
}

TEST_F(DirectoryDelegationsTest, NoneIsAskedForWithoutTheOptions) {
  for (const bool delegations : {false, true}) {
    options_.delegations = delegations;
    options_.directory_delegations = !delegations;
    PutTree();
    MountCallable();
    for (int i = 0; i < 3; ++i) EXPECT_EQ(Stat("d/f"), kOk);
    EXPECT_EQ(calls(kOpGetDirDelegation), 0);
    client_ = nullptr;
  }
}

TEST_F(DirectoryDelegationsTest, TheEndOfTheMountReturnsThem) {
  MountDelegated();
  client_ = nullptr;
  EXPECT_EQ(nfs4_.delegations(), 0u);
}

// Whole paths are asked for by one COMPOUND, which asks for no delegation: that comes behind it.
class DelegatedPathsTest : public DirectoryDelegationsTest {
 protected:
  static constexpr uint32_t kLifetime_s = 30;
  DelegatedPathsTest() { options_.acdirmin_s = options_.acdirmax_s = kLifetime_s; }
  void Expire() { exits::SteeredClock::Pass(kLifetime_s * exits::kSecond); }
  void AwaitAsked() { ClientInternals::SuperblockOf(*client_).background.Wait(); }
};

TEST_F(DelegatedPathsTest, DirectoriesThatExpiredUnchangedAreDelegated) {
  PutTree();
  server_.Put("d/s", {.type = FakeNode::Type::kDirectory, .mode = 0777});
  server_.Put("d/s/g", {});
  MountCallable();
  EXPECT_EQ(Stat("d/s/g"), kOk);
  Expire();
  EXPECT_EQ(calls(kOpGetDirDelegation), 0);
  EXPECT_EQ(Stat("d/s/g"), kOk);
  AwaitAsked();
  EXPECT_EQ(nfs4_.delegations(), 3u);
  for (int i = 0; i < 3; ++i) {
    Expire();
    const Calls before = Count();
    EXPECT_EQ(Stat("d/s/g"), kOk);
    EXPECT_EQ(calls(OP_LOOKUP), before.lookups);
    EXPECT_EQ(calls(OP_ACCESS), before.rights);
    EXPECT_EQ(calls(OP_GETATTR), before.attributes + 1) << "the file's";
  }
}

TEST_F(DelegatedPathsTest, OneThatHasChangedIsNot) {
  PutTree();
  MountCallable();
  EXPECT_EQ(Stat("d/f"), kOk);
  Expire();
  server_.Put("d/new", {});
  nfs4_.GrantDirectories(Grants::kUnavailable);
  EXPECT_EQ(Stat("d/f"), kOk);
  AwaitAsked();
  EXPECT_EQ(calls(kOpGetDirDelegation), 1) << "of the root";
}

class DirectoryDelegationsOf4_0 : public DirectoryDelegationsTest {
 protected:
  DirectoryDelegationsOf4_0() : DirectoryDelegationsTest(0) {}
};

TEST_F(DirectoryDelegationsOf4_0, NoneIsAskedFor) {
  PutTree();
  client_ = std::move(*Client::MountOver(Connect(), options_));
  for (int i = 0; i < 3; ++i) EXPECT_EQ(Stat("d/f"), kOk);
  EXPECT_EQ(calls(kOpGetDirDelegation), 0);
}

}  // namespace
}  // namespace nfswalk
