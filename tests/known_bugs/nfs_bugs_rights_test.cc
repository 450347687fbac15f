// Rights and attributes that were valid once: bugs of other clients in permission and in the
// attribute cache, reproduced against this one. See docs/testing.md.
#include <gtest/gtest.h>

#include <system_error>

#include "tests/known_bugs/versioned_mount.h"

namespace nfswalk {
namespace {

class StaleRights : public VersionedMount {
 protected:
  std::errc Access(uint32_t mode) { return client_->Access("d/f", mode, me_); }
  // Another client revokes all rights to the file.
  void Close() {
    server_->Grant(file_, 0);
    server_->Edit(file_, [](protocol::Attributes& attributes) { attributes.mode = 0; });
  }
  void ChangeMode(uint32_t mode) {
    server_->Edit(file_, [mode](protocol::Attributes& attributes) { attributes.mode = mode; });
  }
  uint64_t SizeOf(std::string_view path) {
    auto attributes = client_->Stat(path, me_);
    return attributes ? attributes->size_bytes : ~0ull;
  }
};

INSTANTIATE_TEST_SUITE_P(Versions, StaleRights, fixtures::AllVersions(), fixtures::VersionTestName);

// A server may omit the attributes from its ACCESS reply. ACCESS-2.
TEST_P(StaleRights, AnExecuteBitIsNotReadFromOldAttributes) {
  protocol_->LeaveOutAttributes("ACCESS");
  ChangeMode(0644);
  Mount();
  EXPECT_EQ(Access(kMayExecute), std::errc::permission_denied);
  for (const uint32_t mode : {0755u, 0644u, 0711u}) {
    ChangeMode(mode);
    client_->InvalidateCaches();
    const std::errc expected = mode == 0644u ? std::errc::permission_denied : std::errc{};
    EXPECT_EQ(Access(kMayExecute), expected) << std::oct << mode;
    EXPECT_EQ(Access(kMayExecute), expected) << std::oct << mode;
  }
}

// Rights stay valid if only the contents of the directory are invalid, and RCU-walk uses them.
TEST_P(StaleRights, ADirectoryIsSearchedUnderRcuWithTheRightsThatAreKnown) {
  Mount();
  ASSERT_EQ(Stat("d/f"), file_);
  server_->Edit(directory_, [](protocol::Attributes& attributes) { attributes.mode = 0644; });
  EXPECT_EQ(Cached("d/f"), file_);  // no change noticed yet
  server_->Grant(directory_, 0);
  Notice("/");
  EXPECT_EQ(Cached("d/f"), file_);
  client_->InvalidateCaches();
  EXPECT_EQ(StatError("d/f"), std::errc::permission_denied);
}

// An entry that replaces another is trusted like a new one.
TEST_P(StaleRights, RenewedRightsAreTrusted) {
  Mount();
  const auto look = [&] {
    for (const Credential& who : {me_, another_, me_, another_}) {
      EXPECT_EQ(client_->Access("d/f", kMayRead, who), std::errc{});
    }
  };
  for (int round = 0; round < 3; ++round) {
    look();
    EXPECT_EQ(Rpcs(look), 0u) << round;
    client_->InvalidateCaches();
  }
}

// ACCESS-8.
TEST_P(StaleRights, AGrantOvertakenByAChangeOfModeOrAnInvalidationIsNotKept) {
  for (const bool mode_seen : {true, false}) {
    NewServer();
    Mount();
    ASSERT_EQ(Stat("d/never"), kMissing);
    List("d");
    WhileReplyIsInFlight("ACCESS", [&] {
      Close();
      mode_seen ? List("d") : client_->InvalidateCaches();
    });
    const std::errc answer = Access(kMayRead);
    if (mode_seen) {
      EXPECT_EQ(answer, std::errc{}) << "as the server answered";
    }
    ASSERT_TRUE(reply_came_);
    EXPECT_EQ(Access(kMayRead), std::errc::permission_denied);
  }
}

#ifndef NDEBUG
// Rights cached while the attributes were invalid, and attributes that another thread has refreshed
// since, with the change of mode. ATTR-14.
TEST_P(StaleRights, RightsAreNotUsedWithAttributesThatVoidedThem) {
  Mount();
  ASSERT_EQ(Access(kMayRead), std::errc{});
  ASSERT_EQ(client_->Rename("d/f", "d/g", me_), std::errc{});  // invalidates its ctime
  Close();
  At("permission:between-loads", 1, [&] {
    auto attributes = client_->Stat("d/g", another_);
    ASSERT_TRUE(attributes);
    EXPECT_EQ(attributes->mode, 0u);
  });
  EXPECT_EQ(client_->Access("d/g", kMayRead, me_), std::errc::permission_denied);
  EXPECT_TRUE(reached_);
}
#endif

// Attributes are ordered by request, not by time: a clock may be coarse, or set back. ATTR-5.
TEST_P(StaleRights, LaterAttributesAreTakenWhateverTheirTimes) {
  Mount();
  ASSERT_EQ(SizeOf("d/f"), 0u);
  const auto resize = [&](uint64_t size, int64_t seconds) {
    server_->Edit(
        file_,
        [&](protocol::Attributes& attributes) {
          attributes.size_bytes = size;
          attributes.mtime.seconds += seconds;
          attributes.ctime.seconds += seconds;
          attributes.change += static_cast<uint64_t>(seconds);
        },
        true);
    client_->InvalidateCaches();
  };
  resize(1, 0);
  EXPECT_EQ(SizeOf("d/f"), 1u);
  resize(2, -100);
  EXPECT_EQ(SizeOf("d/f"), 2u);
  resize(3, 0);
  EXPECT_EQ(SizeOf("d/f"), 3u);
}

// Two changes within one tick, and the reply to the earlier request arrives last. ATTR-9.
TEST_P(StaleRights, AnOverdueAnswerFromTheSameTickDoesNotUndoALaterOne) {
  Mount();
  ASSERT_EQ(Access(kMayRead), std::errc{});
  ASSERT_EQ(client_->Rename("d/f", "d/g", me_), std::errc{});
  WhileReplyIsInFlight("GETATTR", [&] {
    server_->Edit(file_, [](protocol::Attributes& attributes) { attributes.size_bytes = 7; }, true);
    List("d");
    EXPECT_EQ(SizeOf("d/g"), 7u);
  });
  (void)SizeOf("d/g");
  ASSERT_TRUE(reply_came_);
  EXPECT_EQ(SizeOf("d/g"), 7u);
}

// ATTR-11.
TEST_P(StaleRights, NewNameIsCachedIfTheDirectoryShowsTheOwnChange) {
  Mount();
  ASSERT_EQ(Stat("d/f"), file_);
  WhileReplyIsInFlight("CREATE", [&] { Notice("d"); });
  ASSERT_TRUE(client_->Create("d/own", 0644, true, me_));
  ASSERT_TRUE(reply_came_);
  EXPECT_EQ(client_->Access("d", kMayRead, me_), std::errc{});
  EXPECT_TRUE(IsFile(Stat("d/own")));
  EXPECT_EQ(protocol_->LookupsOf("own"), 0u);
  EXPECT_EQ(Stat("d/f"), file_);
}

// The foreign change came after ours, and its reply arrives first.
TEST_P(StaleRights, ANameRemovedByOthersBeforeOurReplyArrivesIsNotFound) {
  Mount();
  ASSERT_EQ(Stat("d/f"), file_);
  WhileReplyIsInFlight("CREATE", [&] {
    server_->Take(directory_, "own");
    Notice("d");
  });
  ASSERT_TRUE(client_->Create("d/own", 0644, true, me_));
  ASSERT_TRUE(reply_came_);
  EXPECT_EQ(Stat("d/own"), kMissing);
}

// RCU-walk obeys the caching options of the mount.
TEST_P(StaleRights, RcuWalkTrustsNothingThatTheMountSaysNotTo) {
  options_.lookupcache = LookupCache::kPositive;
  Mount();
  ASSERT_EQ(Stat("d/f"), file_);
  ASSERT_EQ(Stat("d/never"), kMissing);
  EXPECT_EQ(Cached("d/f"), file_);
  EXPECT_EQ(Cached("d/never"), kTryAgain);

  NewServer();
  options_.lookupcache = LookupCache::kNone;
  Mount();
  ASSERT_EQ(Stat("d/f"), file_);
  EXPECT_EQ(Cached("d/f"), kTryAgain);
  EXPECT_EQ(Cached("d"), kTryAgain);
  EXPECT_EQ(Cached("/"), kRoot);

  options_.lookupcache = LookupCache::kAll;
  for (const bool directories : {true, false}) {
    NewServer();
    // noac, and acregmin=0,acregmax=0 alone
    options_.acregmin_s = options_.acregmax_s = 0;
    options_.acdirmin_s = options_.acdirmax_s = directories ? 0 : 600;
    Mount();
    ASSERT_EQ(Stat("d/f"), file_);
    ASSERT_EQ(Stat("d/never"), kMissing);
    EXPECT_EQ(Cached("d/f"), kTryAgain);
    if (directories) {
      EXPECT_EQ(Cached("d/never"), kTryAgain);
      EXPECT_EQ(Cached("/"), kTryAgain);
    }
  }
}

TEST_P(StaleRights, WithoutAnAttributeCacheEveryChangeIsSeenAtOnce) {
  options_.acregmin_s = options_.acregmax_s = options_.acdirmin_s = options_.acdirmax_s = 0;
  Mount();
  ASSERT_EQ(Stat("d/new"), kMissing);
  for (int round = 0; round < 10; ++round) {
    const uint64_t now = Replace(directory_, "f");
    ASSERT_EQ(Stat("d/f"), now);
    const uint64_t added = server_->Add(directory_, "new", FileType::kRegular);
    ASSERT_EQ(Stat("d/new"), added);
    server_->Take(directory_, "new");
    ASSERT_EQ(Stat("d/new"), kMissing);
  }
}

}  // namespace
}  // namespace nfswalk
