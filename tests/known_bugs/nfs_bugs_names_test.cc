// Names that were right once: bugs of other clients in revalidation, played against this one.
// See docs/known_bugs.md.
#include <gtest/gtest.h>

#include <array>
#include <memory>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

#include "rcu/defer.h"
#include "tests/known_bugs/nfs_bugs.h"

namespace nfswalk {
namespace {

INSTANTIATE_TEST_SUITE_P(Versions, NfsBugs, testing::Values(3, 4), VersionOfTest);

#ifndef NDEBUG
TEST_P(NfsBugs, B01_ANameCreatedWhileAWalkerLooksAtItsAbsenceIsFound) {
  Mount();
  ASSERT_EQ(Stat("d/new"), 0u);
  uint64_t created = 0;
  AtNth(2, "walk:after-child-sample", [&] {
    auto attributes = client_->Create("d/new", 0644, true, another_);
    created = attributes ? attributes->fileid : 0;
  });
  const uint64_t found = Stat("d/new");
  ASSERT_TRUE(reached_);
  EXPECT_NE(created, 0u);
  EXPECT_EQ(found, created);
}

TEST_P(NfsBugs, B01_ANameRemovedWhileAWalkerLooksAtItIsNotFound) {
  Mount();
  ASSERT_EQ(Stat("d/f"), file_);
  AtNth(2, "walk:after-child-sample",
        [&] { EXPECT_EQ(client_->Unlink("d/f", another_), std::errc{}); });
  EXPECT_EQ(Stat("d/f"), 0u);
  EXPECT_TRUE(reached_);
}
#endif

// NAME-7.
TEST_P(NfsBugs, B02_AFileThatAppearedOnTheServerIsFoundBehindItsCachedAbsence) {
  Mount();
  ASSERT_EQ(Stat("d/new"), 0u);
  ASSERT_EQ(Cached("d/new"), 0u);  // the walk under RCU does believe it
  const uint64_t created = server_->Add(directory_, "new", FileType::kRegular);
  Notice("d");
  EXPECT_EQ(Cached("d/new"), std::nullopt) << "a stale absence was believed under RCU";
  EXPECT_EQ(Stat("d/new"), created);
}

// The same without a sign from the server, because what is known of the directory has timed out.
TEST_P(NfsBugs, B02_AnAbsenceIsBelievedNoLongerThanItsDirectory) {
  Mount();
  ASSERT_EQ(Stat("d/new"), 0u);
  const uint64_t created = server_->Add(directory_, "new", FileType::kRegular);
  client_->InvalidateCaches();
  EXPECT_EQ(Cached("d/new"), std::nullopt);
  EXPECT_EQ(Stat("d/new"), created);
}

// The dentry whose name is asked for goes elsewhere meanwhile, and its own text is freed. NAME-25.
TEST_P(NfsBugs, B05_TheNameInALookupIsTheCallersNotTheDentrys) {
  const std::string name(200, 'x');
  const uint64_t elsewhere = server_->Add(kRoot, "e", FileType::kDirectory);
  const uint64_t moved = server_->Add(directory_, name, FileType::kDirectory);
  std::string on_the_wire;
  bool armed = false;
  server_->OnReply([&](std::string_view call, std::string_view asked) {
    if (call != "Lookup" || asked != name || !std::exchange(armed, false)) return;
    Elsewhere([&] {
      server_->Move(directory_, elsewhere, name);
      EXPECT_EQ(Stat("e/" + name), moved);  // the client moves its dentry
      rcu::Barrier();
    });
    on_the_wire = asked;
  });
  Mount();
  ASSERT_EQ(Stat("d/" + name), moved);
  ASSERT_EQ(Stat("e"), elsewhere);
  CastDoubt();
  armed = true;
  (void)client_->Stat("d/" + name, me_);
  EXPECT_EQ(on_the_wire, name);
  EXPECT_EQ(Stat("d/" + name), 0u);
  EXPECT_EQ(Stat("e/" + name), moved);
}

TEST_P(NfsBugs, B06_AnErrorThatSaysNothingOfTheNameLeavesItsDentryAlone) {
  Mount();
  for (const std::errc error : {std::errc::interrupted, std::errc::timed_out, std::errc::io_error,
                                std::errc::operation_not_permitted, std::errc::permission_denied}) {
    ASSERT_EQ(Stat("d/f"), file_);
    CastDoubt();
    const uint64_t dentries = client_->stats().dentries;
    for (const char* call : {"Lookup", "LookupPath", "GetAttributes"}) server_->Fail(call, error);
    EXPECT_EQ(StatError("d/f"), error);
    EXPECT_EQ(client_->stats().dentries, dentries) << "the name was dropped";
    for (const char* call : {"Lookup", "LookupPath", "GetAttributes"}) server_->Fail(call, {});
  }
  EXPECT_EQ(Stat("d/f"), file_);
}

// ESTALE and ENOENT do say something.
TEST_P(NfsBugs, B06_ANameThatTheServerDeniesIsDropped) {
  Mount();
  ASSERT_EQ(Stat("d/f"), file_);
  server_->Take(directory_, "f");
  CastDoubt();
  EXPECT_EQ(Stat("d/f"), 0u);
  EXPECT_EQ(Cached("d/f"), 0u);
}

// NAME-20.
TEST_P(NfsBugs, B07_DotsAreNeverLookedUpByName) {
  server_->Add(directory_, "sub", FileType::kDirectory);
  Mount();
  EXPECT_EQ(Stat("d/."), directory_);
  EXPECT_EQ(Stat("d/./sub/.."), directory_);
  EXPECT_EQ(Stat("d/sub/../.././d/f"), file_);
  // Confirmed by attributes, though the directory has another name on the server by now.
  const uint64_t elsewhere = server_->Add(kRoot, "e", FileType::kDirectory);
  ASSERT_EQ(Stat("e"), elsewhere);
  ASSERT_EQ(Stat("d/sub/.."), directory_);
  EXPECT_EQ(server_->Asked("."), 0);
  client_->InvalidateCaches();
  EXPECT_EQ(StatError("d/."), std::errc{});
  EXPECT_EQ(server_->Asked("."), 0);
}

// NAME-12.
TEST_P(NfsBugs, B08_AChangeBetweenServerAndReplyOfALookupLeavesTheNameInDoubt) {
  Mount();
  ASSERT_EQ(Stat("d"), directory_);
  ASSERT_EQ(Stat("d/never"), 0u);
  ExpectOvertakenReplyIsDoubted("Lookup", [&] { (void)Stat("d/f"); });
}

TEST_P(NfsBugs, B08_AChangeBetweenServerAndReplyLeavesAnAbsenceInDoubt) {
  Mount();
  ASSERT_EQ(Stat("d/never"), 0u);
  uint64_t now = 0;
  WhileReplyIsUnderWay("Lookup", [&] {
    now = server_->Add(directory_, "new", FileType::kRegular);
    Notice("d");
  });
  (void)Stat("d/new");
  ASSERT_TRUE(reply_came_);
  EXPECT_EQ(Stat("d/new"), now);
}

TEST_P(NfsBugs, B08_AChangeBetweenServerAndReplyOfARevalidationLeavesTheNameInDoubt) {
  Mount();
  ASSERT_EQ(Stat("d/f"), file_);
  CastDoubt();
  ExpectOvertakenReplyIsDoubted("Lookup", [&] { (void)Stat("d/f"); });
}

TEST_P(NfsBugs, B08_AChangeBetweenServerAndReplyOfAListingLeavesItsNamesInDoubt) {
  Mount();
  ASSERT_EQ(Stat("d"), directory_);
  ASSERT_EQ(Stat("d/never"), 0u);
  ExpectOvertakenReplyIsDoubted("ReadDir", [&] { List("d"); });
}

// The same for the listing that nobody asked for.
TEST_P(NfsBugs, B08_AChangeBetweenServerAndReplyOfAListingAheadLeavesItsNamesInDoubt) {
  for (int i = 0; i < 10; ++i) {
    server_->Add(directory_, "n" + std::to_string(i), FileType::kRegular);
  }
  Mount();
  ExpectOvertakenReplyIsDoubted("ReadDir", [&] {
    ASSERT_EQ(Stat("d/never"), 0u);
    for (int i = 0; i < 4; ++i) EXPECT_NE(Stat("d/n" + std::to_string(i)), 0u);
  });
}

// Of two answers the older one arrives last. NAME-12.
TEST_P(NfsBugs, B09_AnOverdueRevalidationDoesNotBringTheOldFileBack) {
  Mount();
  ASSERT_EQ(Stat("d/f"), file_);
  CastDoubt();
  uint64_t now = 0;
  WhileReplyIsUnderWay("Lookup", [&] {
    now = Replace(directory_, "f");
    EXPECT_EQ(StatAs(another_, "d/f"), now);
  });
  (void)Stat("d/f");
  ASSERT_TRUE(reply_came_);
  EXPECT_EQ(Stat("d/f"), now);
  EXPECT_EQ(Stat("d/f"), now);
}

// Nor does it take back what the newer one has confirmed.
TEST_P(NfsBugs, B09_AnOverdueRevalidationDoesNotCastDoubtOnANewerOne) {
  Mount();
  ASSERT_EQ(Stat("d/f"), file_);
  ASSERT_EQ(StatAs(another_, "d/f"), file_);
  CastDoubt();
  WhileReplyIsUnderWay("Lookup", [&] {
    CastDoubt();
    EXPECT_EQ(StatAs(another_, "d/f"), file_);
    EXPECT_EQ(Cached("d/f"), file_);
  });
  EXPECT_EQ(Stat("d/f"), file_);
  ASSERT_TRUE(reply_came_);
  // The attributes in it differ from those of "d", which are therefore asked for once.
  EXPECT_EQ(Rpcs([&] { EXPECT_EQ(Stat("d/f"), file_); }), 1u);
  EXPECT_EQ(Cached("d/f"), file_);
}

#ifndef NDEBUG
// A LOOKUP that has its answer, and a listing from before it that arrives first: the caller has
// been told that nothing older is believed, and the server has told it the truth.
TEST_P(NfsBugs, B10_ALookupIsAnsweredByItsOwnReplyNotByAnOlderListing) {
  Mount();
  ASSERT_EQ(Stat("d/never"), 0u);
  uint64_t now = 0, found = 0;
  std::unique_ptr<Actor> asker;
  StopAt stop("lookup:after-rpc");
  WhileReplyIsUnderWay("ReadDir", [&] {
    now = Replace(directory_, "f");
    client_->InvalidateCaches();
    Notice("d");
    ASSERT_EQ(client_->Access("d", kMayRead, me_), std::errc{});
    asker = std::make_unique<Actor>([&] { found = Stat("d/f"); });
    ASSERT_TRUE(stop.Reached(*asker));
  });
  List("d");
  ASSERT_NE(asker, nullptr);
  stop.LetGo();
  asker->Join();
  EXPECT_EQ(found, now);
  EXPECT_EQ(Stat("d/f"), now);
}
#endif

// A file is removed while another thread asks whether it is there. NAME-23.
TEST_P(NfsBugs, B19_ARevalidationDoesNotBringBackAFileThatWeRemoveMeanwhile) {
  Mount();
  ASSERT_EQ(Stat("d/f"), file_);
  CastDoubt();
  std::unique_ptr<Actor> remover;
  WhileReplyIsUnderWay("Lookup", [&] {
    remover = std::make_unique<Actor>([&] { EXPECT_EQ(client_->Unlink("d/f", me_), std::errc{}); });
  });
  (void)Stat("d/f");
  ASSERT_TRUE(reply_came_);
  remover->Join();
  EXPECT_EQ(Stat("d/f"), 0u);
  auto file = client_->Open("d/f", kMayRead, me_);
  ASSERT_FALSE(file);
  EXPECT_EQ(file.error(), std::errc::no_such_file_or_directory);
}

// The answer to RENAME does not say which file was moved: it need not be the one that we know.
// NAME-19.
TEST_P(NfsBugs, B23_ARenameMovesTheFileThatTheServerHasUnderTheName) {
  Mount();
  ASSERT_EQ(Stat("d/f"), file_);
  uint64_t now = Replace(directory_, "f");
  ASSERT_EQ(client_->Rename("d/f", "d/g", me_), std::errc{});
  EXPECT_EQ(Stat("d/g"), now);
  // We know of the change this time, but not of the file.
  ASSERT_EQ(Stat("d/g"), now);
  now = Replace(directory_, "g");
  Notice("d");
  ASSERT_EQ(client_->Rename("d/g", "d/h", me_), std::errc{});
  EXPECT_EQ(Stat("d/h"), now);
}

// A directory keeps what is known of it even if the rename leaves its name in doubt.
TEST_P(NfsBugs, B23_ADirectoryRenamedInDoubtKeepsItsChildren) {
  const uint64_t sub = server_->Add(directory_, "sub", FileType::kDirectory);
  const uint64_t deep = server_->Add(sub, "deep", FileType::kDirectory);
  const uint64_t leaf = server_->Add(deep, "leaf", FileType::kRegular);
  Mount();
  ASSERT_EQ(Stat("d/sub/deep/leaf"), leaf);
  CastDoubt();
  ASSERT_EQ(client_->Rename("d/sub", "d/moved", me_), std::errc{});
  ASSERT_EQ(Stat("d/moved"), sub);
  const int asked = server_->Asked("leaf");
  EXPECT_EQ(Stat("d/moved/deep/leaf"), leaf);
  EXPECT_EQ(server_->Asked("leaf"), asked);
}

// The same for the loop of the report: one client moves the file away and makes a new one. ATTR-6.
TEST_P(NfsBugs, B23_AFileThatIsReplacedOverAndOverIsSeenEveryTime) {
  Mount();
  for (int round = 0; round < 20; ++round) {
    const uint64_t now = Replace(directory_, "f");
    if (round % 2 == 0) {
      Notice("d");
    } else {
      client_->InvalidateCaches();
    }
    ASSERT_EQ(Stat("d/f"), now) << round;
    ASSERT_EQ(Stat("d/f"), now) << round;
  }
}

// One stale name among many costs a listing at most, not a call for each. NAME-21.
TEST_P(NfsBugs, B26_OneStaleNameDoesNotCostEveryOtherACall) {
  constexpr int kNames = 1000;
  for (int i = 0; i < kNames; ++i) {
    server_->Add(directory_, "n" + std::to_string(i), FileType::kRegular);
  }
  Mount();
  const auto look = [&] {
    List("d");
    for (int i = 0; i < kNames; ++i) ASSERT_NE(Stat("d/n" + std::to_string(i)), 0u);
  };
  look();
  const uint64_t now = Replace(directory_, "n500");
  Notice("d");
  EXPECT_LE(Rpcs(look), 4u);
  EXPECT_EQ(Stat("d/n500"), now);
}

#ifndef NDEBUG
TEST_P(NfsBugs, R01_ANameThatMovesUnderAWalkerIsNoAnswer) {
  server_->Add(kRoot, "e", FileType::kDirectory);
  Mount();
  ASSERT_EQ(Stat("d/f"), file_);
  ASSERT_NE(Stat("e"), 0u);
  AtNth(2, "walk:after-child-sample", [&] {
    ASSERT_EQ(client_->Rename("d/f", "e/f", me_), std::errc{});
    ASSERT_EQ(Stat("e/f"), file_);
  });
  EXPECT_EQ(Cached("d/f"), std::nullopt);
  EXPECT_TRUE(reached_);
  EXPECT_EQ(Stat("d/f"), 0u);
}

// Away and back again: the pointers are what they were.
TEST_P(NfsBugs, R01_ANameThatMovesAwayAndBackUnderAWalkerIsNoAnswerEither) {
  server_->Add(kRoot, "e", FileType::kDirectory);
  Mount();
  ASSERT_EQ(Stat("d/f"), file_);
  ASSERT_NE(Stat("e"), 0u);
  AtNth(2, "walk:after-child-sample", [&] {
    ASSERT_EQ(client_->Rename("d/f", "e/f", me_), std::errc{});
    ASSERT_EQ(client_->Rename("e/f", "d/f", me_), std::errc{});
  });
  EXPECT_EQ(Cached("d/f"), std::nullopt);
  EXPECT_TRUE(reached_);
  EXPECT_EQ(Stat("d/f"), file_);
}

// ATTR-6.
TEST_P(NfsBugs, R02_AChangeNoticedBehindAWalkerIsSeenByTheNext) {
  const uint64_t sub = server_->Add(directory_, "sub", FileType::kDirectory);
  const uint64_t leaf = server_->Add(sub, "leaf", FileType::kRegular);
  Mount();
  ASSERT_EQ(Stat("d/sub/leaf"), leaf);
  uint64_t now = 0;
  AtNth(3, "walk:after-child-sample", [&] {
    server_->Take(directory_, "sub");
    now = server_->Add(directory_, "sub", FileType::kDirectory);
    Notice("d");
  });
  EXPECT_EQ(Cached("d/sub/leaf"), leaf);  // it has passed "d" before
  ASSERT_TRUE(reached_);
  EXPECT_EQ(Cached("d/sub/leaf"), std::nullopt);
  EXPECT_EQ(Stat("d/sub/leaf"), 0u);
  EXPECT_EQ(Stat("d/sub"), now);
}
#endif

// NAME-11.
TEST_P(NfsBugs, R13_TheRootOutlivesEveryErrorOfItsServer) {
  Mount();
  ASSERT_EQ(Stat("d/f"), file_);
  const std::array<const char*, 4> calls = {"GetAttributes", "Access", "Lookup", "LookupPath"};
  for (const std::errc error : {protocol::kStale, std::errc::timed_out, std::errc::io_error}) {
    client_->InvalidateCaches();
    for (const char* call : calls) server_->Fail(call, error);
    EXPECT_EQ(StatError("/"), error);
    EXPECT_EQ(StatError("d/f"), error);
    for (const char* call : calls) server_->Fail(call, {});
    EXPECT_EQ(Stat("/"), kRoot);
    EXPECT_EQ(Stat("d/f"), file_);
  }
}

// A file that is gone by its handle, though its name was believed. ATTR-8.
TEST_P(NfsBugs, R14_AStaleFileIsNotAskedAboutAgainAndItsNameLooksForAnother) {
  Mount();
  ASSERT_EQ(Stat("d/f"), file_);
  server_->Fail("GetAttributes", protocol::kStale);
  auto file = client_->Open("d/f", kMayRead, me_);
  server_->Fail("GetAttributes", {});
  EXPECT_EQ(Cached("d/f"), std::nullopt);
  const int attributes = server_->Calls("GetAttributes");
  EXPECT_EQ(Stat("d/f"), file_);
  EXPECT_EQ(server_->Calls("GetAttributes"), attributes);
  EXPECT_EQ(Cached("d/f"), file_);
}

}  // namespace
}  // namespace nfswalk
