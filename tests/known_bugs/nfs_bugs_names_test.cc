// Dentries that were valid once: bugs of other clients in revalidation, reproduced against this
// one. See docs/testing.md.
#include <gtest/gtest.h>

#include <array>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

#include "rcu/defer.h"
#include "tests/fixtures/client_internals.h"
#include "tests/known_bugs/versioned_mount.h"

namespace nfswalk {
namespace {

class NameRevalidation : public VersionedMount {};

INSTANTIATE_TEST_SUITE_P(Versions, NameRevalidation, fixtures::AllVersions(),
                         fixtures::VersionTestName);

#ifndef NDEBUG
TEST_P(NameRevalidation, ANameCreatedWhileAWalkerLooksAtItsAbsenceIsFound) {
  Mount();
  ASSERT_EQ(Stat("d/new"), kMissing);
  uint64_t created = 0;
  At("walk:after-child-sample", 2, [&] {
    const auto made = client_->Create("d/new", 0644, true, another_);
    created = made ? made->attributes.fileid : 0;
  });
  const uint64_t found = Stat("d/new");
  ASSERT_TRUE(reached_);
  EXPECT_NE(created, 0u);
  EXPECT_EQ(found, created);
}

TEST_P(NameRevalidation, ANameRemovedWhileAWalkerLooksAtItIsNotFound) {
  Mount();
  ASSERT_EQ(Stat("d/f"), file_);
  At("walk:after-child-sample", 2,
     [&] { EXPECT_EQ(client_->Unlink("d/f", another_), std::errc{}); });
  EXPECT_EQ(Stat("d/f"), kMissing);
  EXPECT_TRUE(reached_);
}
#endif

// NAME-7.
TEST_P(NameRevalidation, AFileThatAppearedOnTheServerIsFoundBehindItsCachedAbsence) {
  Mount();
  ASSERT_EQ(Stat("d/new"), kMissing);
  ASSERT_EQ(Cached("d/new"), kMissing);  // RCU-walk trusts it
  const uint64_t created = server_->Add(directory_, "new", FileType::kRegular);
  Notice("d");
  EXPECT_EQ(Cached("d/new"), kTryAgain) << "RCU-walk trusted a stale negative dentry";
  EXPECT_EQ(Stat("d/new"), created);
}

// The directory's attributes have expired, and its change was not seen.
TEST_P(NameRevalidation, ANegativeDentryIsTrustedNoLongerThanItsDirectory) {
  Mount();
  ASSERT_EQ(Stat("d/new"), kMissing);
  const uint64_t created = server_->Add(directory_, "new", FileType::kRegular);
  client_->InvalidateCaches();
  EXPECT_EQ(Cached("d/new"), kTryAgain);
  EXPECT_EQ(Stat("d/new"), created);
}

// The dentry of the lookup moves meanwhile, and its own name is freed. NAME-25.
TEST_P(NameRevalidation, TheNameInALookupIsTheCallersNotTheDentrys) {
  const std::string name(200, 'x');
  const uint64_t elsewhere = server_->Add(kRoot, "e", FileType::kDirectory);
  const uint64_t moved = server_->Add(directory_, name, FileType::kDirectory);
  std::string on_the_wire;
  bool armed = false;
  on_reply_ = [&](const fixtures::Call& call) {
    if (call.procedure != "LOOKUP" || call.name() != name || !std::exchange(armed, false)) return;
    Elsewhere([&] {
      server_->Move(directory_, elsewhere, name);
      EXPECT_EQ(Stat("e/" + name), moved);  // the client moves its dentry
      rcu::Barrier();
    });
    on_the_wire = call.name();
  };
  Mount();
  ASSERT_EQ(Stat("d/" + name), moved);
  ASSERT_EQ(Stat("e"), elsewhere);
  InvalidateNames();
  armed = true;
  (void)client_->Stat("d/" + name, me_);
  EXPECT_EQ(on_the_wire, name);
  EXPECT_EQ(Stat("d/" + name), kMissing);
  EXPECT_EQ(Stat("e/" + name), moved);
}

TEST_P(NameRevalidation, AnErrorThatSaysNothingOfTheNameLeavesItsDentryAlone) {
  constexpr const char* kCalls[] = {"LOOKUP", "COMPOUND", "GETATTR", "READDIR"};
  Mount();
  for (const std::errc error : {std::errc::interrupted, std::errc::timed_out, std::errc::io_error,
                                std::errc::operation_not_permitted, std::errc::permission_denied}) {
    ASSERT_EQ(Stat("d/f"), file_);
    InvalidateNames();
    const uint64_t dentries = client_->stats().dentries;
    for (const char* call : kCalls) protocol_->Fail(call, error);
    EXPECT_EQ(StatError("d/f"), error);
    EXPECT_EQ(client_->stats().dentries, dentries) << "the name was dropped";
    for (const char* call : kCalls) protocol_->Fail(call, {});
  }
  EXPECT_EQ(Stat("d/f"), file_);
}

// ESTALE and ENOENT are authoritative.
TEST_P(NameRevalidation, ANameThatTheServerDeniesIsDropped) {
  Mount();
  ASSERT_EQ(Stat("d/f"), file_);
  server_->Take(directory_, "f");
  InvalidateNames();
  EXPECT_EQ(Stat("d/f"), kMissing);
  EXPECT_EQ(Cached("d/f"), kMissing);
}

// NAME-20.
TEST_P(NameRevalidation, DotsAreNeverLookedUpByName) {
  server_->Add(directory_, "sub", FileType::kDirectory);
  Mount();
  EXPECT_EQ(Stat("d/."), directory_);
  EXPECT_EQ(Stat("d/./sub/.."), directory_);
  EXPECT_EQ(Stat("d/sub/../.././d/f"), file_);
  // Confirmed by attributes, though the directory has been renamed on the server.
  const uint64_t elsewhere = server_->Add(kRoot, "e", FileType::kDirectory);
  ASSERT_EQ(Stat("e"), elsewhere);
  ASSERT_EQ(Stat("d/sub/.."), directory_);
  EXPECT_EQ(protocol_->LookupsOf("."), 0u);
  client_->InvalidateCaches();
  EXPECT_EQ(StatError("d/."), std::errc{});
  EXPECT_EQ(protocol_->LookupsOf("."), 0u);
}

TEST_P(NameRevalidation, AChangeBetweenServerAndReplyLeavesANegativeDentryToRevalidate) {
  Mount();
  ASSERT_EQ(Stat("d/never"), kMissing);
  uint64_t now = 0;
  WhileReplyIsInFlight("LOOKUP", [&] {
    now = server_->Add(directory_, "new", FileType::kRegular);
    Notice("d");
  });
  (void)Stat("d/new");
  ASSERT_TRUE(reply_came_);
  EXPECT_EQ(Stat("d/new"), now);
}

// NAME-12.
TEST_P(NameRevalidation, AChangeBetweenServerAndReplyLeavesTheNamesToRevalidate) {
  const auto know_directory = [&] {
    ASSERT_EQ(Stat("d"), directory_);
    ASSERT_EQ(Stat("d/never"), kMissing);
  };
  const struct {
    const char* name;
    const char* call;
    std::function<void()> prepare, ask;
  } rows[] = {
      {"lookup", "LOOKUP", know_directory, [&] { (void)Stat("d/f"); }},
      {"revalidation", "LOOKUP",
       [&] {
         ASSERT_EQ(Stat("d/f"), file_);
         InvalidateNames();
       },
       [&] { (void)Stat("d/f"); }},
      {"listing", "READDIR", know_directory, [&] { List("d"); }},
      {"listing ahead", "READDIR", [] {},
       [&] {
         ASSERT_EQ(Stat("d/never"), kMissing);
         for (int i = 0; i < 4; ++i) EXPECT_TRUE(IsFile(Stat("d/n" + std::to_string(i))));
         ClientInternals::SuperblockOf(*client_).background.Wait();
       }},
  };
  for (const auto& row : rows) {
    SCOPED_TRACE(row.name);
    NewServer();
    for (int i = 0; i < 10; ++i) {
      server_->Add(directory_, "n" + std::to_string(i), FileType::kRegular);
    }
    Mount();
    row.prepare();
    uint64_t now = 0;
    WhileReplyIsInFlight(row.call, [&] {
      now = Replace(directory_, "f");
      Notice("d");
    });
    row.ask();
    ASSERT_TRUE(reply_came_) << "nothing led to a " << row.call;
    EXPECT_EQ(Stat("d/f"), now);
  }
}

// The older of two replies arrives last. NAME-12.
TEST_P(NameRevalidation, AnOverdueRevalidationDoesNotBringTheOldFileBack) {
  Mount();
  ASSERT_EQ(Stat("d/f"), file_);
  InvalidateNames();
  uint64_t now = 0;
  WhileReplyIsInFlight("LOOKUP", [&] {
    now = Replace(directory_, "f");
    EXPECT_EQ(StatAs(another_, "d/f"), now);
  });
  (void)Stat("d/f");
  ASSERT_TRUE(reply_came_);
  EXPECT_EQ(Stat("d/f"), now);
  EXPECT_EQ(Stat("d/f"), now);
}

// Nor does it invalidate what the newer one has confirmed.
TEST_P(NameRevalidation, AnOverdueRevalidationDoesNotInvalidateANewerOne) {
  Mount();
  ASSERT_EQ(Stat("d/f"), file_);
  ASSERT_EQ(StatAs(another_, "d/f"), file_);
  InvalidateNames();
  WhileReplyIsInFlight("LOOKUP", [&] {
    InvalidateNames();
    EXPECT_EQ(StatAs(another_, "d/f"), file_);
    EXPECT_EQ(Cached("d/f"), file_);
  });
  EXPECT_EQ(Stat("d/f"), file_);
  ASSERT_TRUE(reply_came_);
  // The attributes in it differ from those of "d", which cost one GETATTR.
  EXPECT_EQ(Rpcs([&] { EXPECT_EQ(Stat("d/f"), file_); }), 1u);
  EXPECT_EQ(Cached("d/f"), file_);
}

#ifndef NDEBUG
// The reply to a LOOKUP is in flight while an older listing arrives first: the caller gets the
// LOOKUP's result, not the listing's.
TEST_P(NameRevalidation, ALookupIsAnsweredByItsOwnReplyNotByAnOlderListing) {
  Mount();
  ASSERT_EQ(Stat("d/never"), kMissing);
  uint64_t now = 0, found = 0;
  std::unique_ptr<Actor> asker;
  StopAt stop("lookup:after-rpc");
  WhileReplyIsInFlight("READDIR", [&] {
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

// A file is removed while another thread looks its name up. NAME-23.
TEST_P(NameRevalidation, ARevalidationDoesNotBringBackAFileThatWeRemoveMeanwhile) {
  Mount();
  ASSERT_EQ(Stat("d/f"), file_);
  InvalidateNames();
  std::unique_ptr<Actor> remover;
  WhileReplyIsInFlight("LOOKUP", [&] {
    remover = std::make_unique<Actor>([&] { EXPECT_EQ(client_->Unlink("d/f", me_), std::errc{}); });
  });
  (void)Stat("d/f");
  ASSERT_TRUE(reply_came_);
  remover->Join();
  EXPECT_EQ(Stat("d/f"), kMissing);
  auto file = client_->Open("d/f", kMayRead, me_);
  ASSERT_FALSE(file);
  EXPECT_EQ(file.error(), std::errc::no_such_file_or_directory);
}

// The reply to RENAME does not identify the file moved: it may not be the one cached. NAME-19.
TEST_P(NameRevalidation, ARenameMovesTheFileThatTheServerHasUnderTheName) {
  Mount();
  ASSERT_EQ(Stat("d/f"), file_);
  uint64_t now = Replace(directory_, "f");
  ASSERT_EQ(client_->Rename("d/f", "d/g", me_), std::errc{});
  EXPECT_EQ(Stat("d/g"), now);
  // The change is noticed this time, but the file is unknown.
  ASSERT_EQ(Stat("d/g"), now);
  now = Replace(directory_, "g");
  Notice("d");
  ASSERT_EQ(client_->Rename("d/g", "d/h", me_), std::errc{});
  EXPECT_EQ(Stat("d/h"), now);
}

// A directory keeps its cached children even if the rename invalidates its name.
TEST_P(NameRevalidation, ADirectoryRenamedWhileInvalidKeepsItsChildren) {
  const uint64_t sub = server_->Add(directory_, "sub", FileType::kDirectory);
  const uint64_t deep = server_->Add(sub, "deep", FileType::kDirectory);
  const uint64_t leaf = server_->Add(deep, "leaf", FileType::kRegular);
  Mount();
  ASSERT_EQ(Stat("d/sub/deep/leaf"), leaf);
  InvalidateNames();
  ASSERT_EQ(client_->Rename("d/sub", "d/moved", me_), std::errc{});
  ASSERT_EQ(Stat("d/moved"), sub);
  const size_t asked = protocol_->LookupsOf("leaf");
  EXPECT_EQ(Stat("d/moved/deep/leaf"), leaf);
  EXPECT_EQ(protocol_->LookupsOf("leaf"), asked);
}

// Replaces a file in a loop, as reported: one client moves the file away and creates another.
// ATTR-6.
TEST_P(NameRevalidation, AFileThatIsReplacedOverAndOverIsSeenEveryTime) {
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

// One stale name among many costs at most one listing, not a call for each. NAME-21.
TEST_P(NameRevalidation, OneStaleNameDoesNotCostEveryOtherACall) {
  constexpr int kNames = 1000;
  for (int i = 0; i < kNames; ++i) {
    server_->Add(directory_, "n" + std::to_string(i), FileType::kRegular);
  }
  Mount();
  const auto look = [&] {
    List("d");
    for (int i = 0; i < kNames; ++i) ASSERT_TRUE(IsFile(Stat("d/n" + std::to_string(i))));
  };
  look();
  const uint64_t now = Replace(directory_, "n500");
  Notice("d");
  EXPECT_LE(Rpcs(look), 4u);
  EXPECT_EQ(Stat("d/n500"), now);
}

#ifndef NDEBUG
// Also moved away and back again: the pointers are equal.
TEST_P(NameRevalidation, ANameThatMovesUnderAWalkerIsNotItsAnswer) {
  for (const bool back : {false, true}) {
    NewServer();
    server_->Add(kRoot, "e", FileType::kDirectory);
    Mount();
    ASSERT_EQ(Stat("d/f"), file_);
    ASSERT_TRUE(IsFile(Stat("e")));
    At("walk:after-child-sample", 2, [&] {
      ASSERT_EQ(client_->Rename("d/f", "e/f", me_), std::errc{});
      ASSERT_EQ(Stat("e/f"), file_);
      if (back) {
        ASSERT_EQ(client_->Rename("e/f", "d/f", me_), std::errc{});
      }
    });
    EXPECT_EQ(Cached("d/f"), kTryAgain);
    EXPECT_TRUE(reached_);
    EXPECT_EQ(Stat("d/f"), back ? file_ : kMissing);
    rcu::SyncPointScript::ClearAll();
  }
}

// ATTR-6.
TEST_P(NameRevalidation, AChangeNoticedBehindAWalkerIsSeenByTheNext) {
  const uint64_t sub = server_->Add(directory_, "sub", FileType::kDirectory);
  const uint64_t leaf = server_->Add(sub, "leaf", FileType::kRegular);
  Mount();
  ASSERT_EQ(Stat("d/sub/leaf"), leaf);
  uint64_t now = 0;
  At("walk:after-child-sample", 3, [&] {
    server_->Take(directory_, "sub");
    now = server_->Add(directory_, "sub", FileType::kDirectory);
    Notice("d");
  });
  EXPECT_EQ(Cached("d/sub/leaf"), leaf);  // the walk has passed "d" before
  ASSERT_TRUE(reached_);
  EXPECT_EQ(Cached("d/sub/leaf"), kTryAgain);
  EXPECT_EQ(Stat("d/sub/leaf"), kMissing);
  EXPECT_EQ(Stat("d/sub"), now);
}
#endif

// NAME-11.
TEST_P(NameRevalidation, TheRootOutlivesEveryErrorOfItsServer) {
  Mount();
  ASSERT_EQ(Stat("d/f"), file_);
  const std::array<const char*, 4> calls = {"GETATTR", "ACCESS", "LOOKUP", "COMPOUND"};
  for (const std::errc error : {protocol::kStale, std::errc::timed_out, std::errc::io_error}) {
    client_->InvalidateCaches();
    for (const char* call : calls) protocol_->Fail(call, error);
    EXPECT_EQ(StatError("/"), error);
    EXPECT_EQ(StatError("d/f"), error);
    for (const char* call : calls) protocol_->Fail(call, {});
    EXPECT_EQ(Stat("/"), kRoot);
    EXPECT_EQ(Stat("d/f"), file_);
  }
}

// The handle is stale although the name was trusted. ATTR-8.
TEST_P(NameRevalidation, AStaleFileIsNotAskedAboutAgainAndItsNameLooksForAnother) {
  Mount();
  ASSERT_EQ(Stat("d/f"), file_);
  const std::array<const char*, 2> calls = {"GETATTR", "ACCESS"};  // ACCESS: of unknown rights
  for (const char* call : calls) protocol_->Fail(call, protocol::kStale);
  EXPECT_FALSE(client_->Open("d/f", kMayRead, me_));
  for (const char* call : calls) protocol_->Fail(call, {});
  EXPECT_EQ(Cached("d/f"), kTryAgain);
  const size_t attributes = protocol_->Calls("GETATTR");
  EXPECT_EQ(Stat("d/f"), file_);
  EXPECT_EQ(protocol_->Calls("GETATTR"), attributes);
  EXPECT_EQ(Cached("d/f"), file_);
}

}  // namespace
}  // namespace nfswalk
