// Late replies and changes by other clients: forced interleavings of a client with a server in
// memory.
#include <gtest/gtest.h>

#include <array>
#include <optional>
#include <system_error>

#include "nfsclient/superblock/superblock.h"
#include "rcu/byte_pool.h"
#include "rcu/defer.h"
#include "tests/fixtures/client_internals.h"
#include "tests/fixtures/memory_mount.h"

namespace nfswalk {
namespace {

class NfsRulesRace : public MemoryMount {
 protected:
  NfsRulesRace() { Mount(); }
};

#ifndef NDEBUG
// A walk uses a link's text only with the validity that it sampled for that text.
TEST_F(NfsRulesRace, AWalkerNeverTrustsALinkTextThatWasInvalidBeforeItBegan) {
  const uint64_t link = server_->Add(kRoot, "link", FileType::kSymlink, "old");
  ASSERT_EQ(LinkText("link"), "old");
  server_->SetTarget(link, "new");
  List("/");
  At("readlink-rcu:between-loads", 1, [&] { EXPECT_EQ(LinkText("link"), "new"); });
  EXPECT_EQ(LinkText("link"), "new");
  EXPECT_TRUE(reached_);
}

// The link never led to a file: it led to "d/a" before that was created, and to "d/b", which is
// missing, afterwards. A walk that is not strict may find a file (WALK-15). WALK-16.
TEST_F(NfsRulesRace, AStrictWalkDoesNotFollowALinkThatChangesUnderIt) {
  const uint64_t directory = server_->Add(kRoot, "d", FileType::kDirectory);
  const uint64_t link = server_->Add(kRoot, "link", FileType::kSymlink, "d/a");
  EXPECT_EQ(Stat("link"), kMissing);
  ASSERT_EQ(client_->Access("link", kMayRead, another_), std::errc::no_such_file_or_directory);
  At("walk:after-link-text", 1, [&] {
    server_->SetTarget(link, "d/b");
    EXPECT_EQ(client_->Access("link", kMayRead, another_, {.no_follow = true}), std::errc{});
    server_->Add(directory, "a", FileType::kRegular);
    List("d");  // detects the change of the directory
    List("d");  // caches trusted names
  });
  EXPECT_EQ(Stat("link", {.strict = true}), kMissing);
  EXPECT_TRUE(reached_);
}

// The name in the reply to our own call is as old as that reply: a foreign change noticed since
// then makes it need revalidation like every other name of the directory. NAME-18.
TEST_F(NfsRulesRace, AFileThatIsRemovedRightAfterItsCreationIsNotFound) {
  ASSERT_EQ(Stat("file"), kMissing);
  At("change:taken-in", 1, [&] {
    server_->Take(kRoot, "file");
    EXPECT_EQ(client_->Access("/", kMayRead, another_), std::errc{});  // detects the change
  });
  ASSERT_TRUE(client_->Create("file", 0644, true, me_));
  EXPECT_TRUE(reached_);
  EXPECT_EQ(Stat("file"), kMissing);
}

TEST_F(NfsRulesRace, AFileThatIsCreatedRightAfterItsRemovalIsFound) {
  ASSERT_NE(server_->Add(kRoot, "file", FileType::kRegular), 0u);
  ASSERT_TRUE(IsFile(Stat("file")));
  uint64_t created = 0;
  At("change:taken-in", 1, [&] {
    created = server_->Add(kRoot, "file", FileType::kRegular);
    EXPECT_EQ(client_->Access("/", kMayRead, another_), std::errc{});
  });
  ASSERT_EQ(client_->Unlink("file", me_), std::errc{});
  EXPECT_TRUE(reached_);
  EXPECT_EQ(Stat("file"), created);
}

// INODE-9.
TEST_F(NfsRulesRace, ALongHandleIsKeptWhileItsInodeIsStillFound) {
  server_->Add(kRoot, "short handle", FileType::kRegular);
  server_->Add(kRoot, "long handle", FileType::kRegular);
  ASSERT_TRUE(IsFile(Stat("long handle")));
  const rcu::BytePool& strings = ClientInternals::SuperblockOf(*client_).inode_operations.bytes();
  const size_t live = strings.live();
  At("evict:before-unhash", 1, [&] {
    rcu::Barrier();
    EXPECT_EQ(strings.live(), live);
  });
  client_->DropCaches();
  EXPECT_TRUE(reached_);
  rcu::Barrier();
  EXPECT_EQ(strings.live(), live - 1);
}

// Who learns that nothing is new, from a reply behind the one that told of the change, finds the
// event posted: both take the inode's lock. NAME-30.
TEST_F(NfsRulesRace, AChangeIsPostedBeforeAnotherReplyIsComparedWithIt) {
  const uint64_t file = server_->Add(kRoot, "file", FileType::kRegular);
  ASSERT_EQ(Stat("file"), file);
  ASSERT_EQ(client_->OnInvalidation([](const Invalidation&) {}), std::errc{});
  const icache::InodeRef inode = ClientInternals::InodesOf(*client_).Ilookup(file);
  ASSERT_TRUE(inode);
  server_->Edit(file, [](protocol::Attributes& attributes) { attributes.size_bytes += 1; });
  At("attributes:before-post", 1, [&] {
    const bool is_free = inode->lock.try_lock();
    EXPECT_FALSE(is_free);
    if (is_free) inode->lock.unlock();
  });
  (void)client_->Access("file", kMayRead, another_);  // detects the change
  EXPECT_TRUE(reached_);
  EXPECT_EQ(client_->OnInvalidation({}), std::errc{});
}

// Otherwise the ENOENT of an earlier LOOKUP could be cached after the creation (i_rwsem).
TEST_F(NfsRulesRace, ACreationWaitsForTheLookupsInItsDirectory) {
  std::atomic<bool> created{false};
  std::thread creator;
  rcu::SyncPointScript::OnReach("lookup:after-rpc", [&] {
    if (reached_.exchange(true)) return;
    creator = std::thread([&] { created = client_->Create("new", 0644, true, me_).has_value(); });
    // Far more yields than a creation takes.
    for (int turns = 0; turns < 10'000 && !created; ++turns) std::this_thread::yield();
    EXPECT_FALSE(created);
  });
  EXPECT_EQ(Stat("other"), kMissing);
  ASSERT_TRUE(reached_);
  creator.join();
  EXPECT_TRUE(created);
}

TEST_F(NfsRulesRace, AFileThatIsMovedOnRightAfterItsRenameIsNotFound) {
  server_->Add(kRoot, "from", FileType::kRegular);
  ASSERT_TRUE(IsFile(Stat("from")));
  At("change:taken-in", 1, [&] {
    server_->Take(kRoot, "to");
    EXPECT_EQ(client_->Access("/", kMayRead, another_), std::errc{});
  });
  ASSERT_EQ(client_->Rename("from", "to", me_), std::errc{});
  EXPECT_TRUE(reached_);
  EXPECT_EQ(Stat("to"), kMissing);
}
#endif

// The reply to a READLINK from before the change does not make its text valid after the change was
// noticed (ATTR-15; ACCESS-8 for rights).
TEST_F(NfsRulesRace, ALateLinkTextDoesNotOutliveAChange) {
  const uint64_t link = server_->Add(kRoot, "link", FileType::kSymlink, "old");
  ASSERT_EQ(Stat("link", {.no_follow = true}), link);
  WhileReplyIsInFlight("READLINK", [&] {
    server_->SetTarget(link, "new");
    List("/");
  });
  EXPECT_EQ(LinkText("link"), "old");
  EXPECT_TRUE(reply_came_);
  EXPECT_EQ(LinkText("link"), "new");
}

// A name revalidated in one directory while it is moved to another is not valid in the other.
TEST_F(NfsRulesRace, ARevalidationInTheOldDirectoryDoesNotValidateTheNameInTheNew) {
  const uint64_t a = server_->Add(kRoot, "a", FileType::kDirectory);
  const uint64_t b = server_->Add(kRoot, "b", FileType::kDirectory);
  server_->Add(a, "moved", FileType::kDirectory);
  ASSERT_TRUE(IsFile(Stat("a/moved")));
  ASSERT_TRUE(IsFile(Stat("b")));
  // Advances the change id of "a" as often as that of "b" below.
  for (const char* name : {"one", "two"}) {
    server_->Add(a, name, FileType::kRegular);
    ASSERT_EQ(client_->Access("a", kMayRead, another_), std::errc{});
    ASSERT_EQ(client_->Access("a", kMayRead, me_), std::errc{});
  }
  WhileReplyIsInFlight("LOOKUP", [&] {
    server_->Move(a, b, "moved");
    EXPECT_TRUE(IsFile(Stat("b/moved")));
    server_->Take(b, "moved");
    EXPECT_EQ(client_->Access("b", kMayRead, another_), std::errc{});
  });
  EXPECT_TRUE(IsFile(Stat("a/moved")));
  EXPECT_TRUE(reply_came_);
  EXPECT_EQ(Stat("b/moved"), kMissing);
}

// A reply to an earlier request than that of a later change is stale. ATTR-10.
TEST_F(NfsRulesRace, ATruncationWaitsForTheOneBefore) {
  server_->Add(kRoot, "file", FileType::kRegular);
  const auto truncate = [&](uint64_t size) {
    EXPECT_TRUE(client_->SetAttributesOf("file", {.size_bytes = size}, me_));
  };
  std::optional<Actor> later;
  WhileReplyIsInFlight("SETATTR", [&] { later.emplace([&] { truncate(200); }); });
  truncate(100);
  later.reset();
  EXPECT_TRUE(reply_came_);
  auto attributes = client_->Stat("file", me_);
  ASSERT_TRUE(attributes);
  EXPECT_EQ(attributes->size_bytes, 200u);
}

// A server error is not a concurrent change, which a strict walk would retry.
TEST_F(NfsRulesRace, AStrictWalkReportsAnErrorOfTheServerAtOnce) {
  protocol_->Fail("LOOKUP", std::errc::io_error);
  EXPECT_EQ(Stat("file", {.strict = true}), Failed(std::errc::io_error));
  EXPECT_EQ(protocol_->Calls("LOOKUP"), 1u);
}

}  // namespace
}  // namespace nfswalk
