// The rules of NFS when replies are late and other clients are quick: forced interleavings of a
// client with a server in memory.
#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <thread>

#include "nfsclient/client.h"
#include "rcu/sync_point.h"
#include "tests/fixtures/memory_server.h"

namespace nfswalk {
namespace {

using fixtures::MemoryServer;
using protocol::FileType;

constexpr uint64_t kRoot = MemoryServer::kRoot;

class NfsRulesRace : public testing::Test {
 protected:
  NfsRulesRace() {
    auto server = std::make_unique<MemoryServer>();
    server_ = server.get();
    server_->OnReply([this](std::string_view call, std::string_view) {
      if (call == awaited_call_ && !reply_came_.exchange(true)) hold_reply_();
    });
    MountOptions options;
    options.acregmin_s = options.acregmax_s = options.acdirmin_s = options.acdirmax_s = 600;
    client_ = std::move(*Client::MountOver(std::move(server), options));
  }
  ~NfsRulesRace() override { rcu::SyncPointScript::ClearAll(); }

  // Runs `meanwhile` while the next reply of `call` is on its way to the client.
  void WhileReplyIsUnderWay(std::string_view call, std::function<void()> meanwhile) {
    awaited_call_ = call;
    hold_reply_ = std::move(meanwhile);
    reply_came_ = false;
  }
  // Runs `meanwhile` on a thread of its own the first time that a thread reaches `point`.
  void At(std::string_view point, std::function<void()> meanwhile) {
    rcu::SyncPointScript::OnReach(point, [this, meanwhile = std::move(meanwhile)] {
      if (!reached_.exchange(true)) std::thread(meanwhile).join();
    });
  }

  // The file id, or 0 for ENOENT.
  uint64_t Stat(std::string_view path, ResolveFlags flags = {}) {
    auto attributes = client_->Stat(path, me_, flags);
    if (attributes) return attributes->fileid;
    EXPECT_EQ(attributes.error(), std::errc::no_such_file_or_directory) << path;
    return 0;
  }
  std::string Link(std::string_view path) {
    std::array<char, 100> text;
    auto size = client_->ReadLink(path, text, me_);
    return size ? std::string(text.data(), *size) : "error";
  }
  // The client takes in the current attributes of everything in a directory.
  void List(std::string_view path) {
    EXPECT_EQ(client_->ReadDir(path, me_, [](const auto&) { return true; }), std::errc{});
  }

  const Credential me_{1, 1}, another_{2, 2};
  MemoryServer* server_;
  std::unique_ptr<Client> client_;
  std::string_view awaited_call_;
  std::function<void()> hold_reply_;
  std::atomic<bool> reply_came_{false}, reached_{false};
};

#ifndef NDEBUG
// The text that was refused and the permission to use the next one do not go together.
TEST_F(NfsRulesRace, AWalkerNeverBelievesALinkTextThatWasInvalidBeforeItBegan) {
  const uint64_t link = server_->Add(kRoot, "link", FileType::kSymlink, "old");
  ASSERT_EQ(Link("link"), "old");
  server_->SetTarget(link, "new");
  List("/");
  At("readlink-rcu:between-loads", [&] { EXPECT_EQ(Link("link"), "new"); });
  EXPECT_EQ(Link("link"), "new");
  EXPECT_TRUE(reached_);
}

// There never was a file that the link led to: it led to "d/a" before that was made, and to "d/b",
// which is missing, afterwards. A walk that is not strict may say otherwise (WALK-15). WALK-16.
TEST_F(NfsRulesRace, AStrictWalkDoesNotFollowALinkThatChangesUnderIt) {
  const uint64_t directory = server_->Add(kRoot, "d", FileType::kDirectory);
  const uint64_t link = server_->Add(kRoot, "link", FileType::kSymlink, "d/a");
  EXPECT_EQ(Stat("link"), 0u);
  ASSERT_EQ(client_->Access("link", kMayRead, another_), std::errc::no_such_file_or_directory);
  At("walk:after-link-text", [&] {
    server_->SetTarget(link, "d/b");
    EXPECT_EQ(client_->Access("link", kMayRead, another_, {.no_follow = true}), std::errc{});
    server_->Add(directory, "a", FileType::kRegular);
    List("d");  // sees that the directory has changed
    List("d");  // brings names that may be believed
  });
  EXPECT_EQ(Stat("link", {.strict = true}), 0u);
  EXPECT_TRUE(reached_);
}

// What our own call told us of a name is as old as its reply: a change by others that was noticed
// since then casts doubt on it as on every other name of the directory. NAME-18.
TEST_F(NfsRulesRace, AFileThatIsRemovedRightAfterItsCreationIsNotFound) {
  ASSERT_EQ(Stat("file"), 0u);
  At("change:taken-in", [&] {
    server_->Take(kRoot, "file");
    EXPECT_EQ(client_->Access("/", kMayRead, another_), std::errc{});  // sees that it has changed
  });
  ASSERT_TRUE(client_->Create("file", 0644, true, me_));
  EXPECT_TRUE(reached_);
  EXPECT_EQ(Stat("file"), 0u);
}

TEST_F(NfsRulesRace, AFileThatIsCreatedRightAfterItsRemovalIsFound) {
  ASSERT_NE(server_->Add(kRoot, "file", FileType::kRegular), 0u);
  ASSERT_NE(Stat("file"), 0u);
  uint64_t created = 0;
  At("change:taken-in", [&] {
    created = server_->Add(kRoot, "file", FileType::kRegular);
    EXPECT_EQ(client_->Access("/", kMayRead, another_), std::errc{});
  });
  ASSERT_EQ(client_->Unlink("file", me_), std::errc{});
  EXPECT_TRUE(reached_);
  EXPECT_EQ(Stat("file"), created);
}

TEST_F(NfsRulesRace, AFileThatIsMovedOnRightAfterItsRenameIsNotFound) {
  server_->Add(kRoot, "from", FileType::kRegular);
  ASSERT_NE(Stat("from"), 0u);
  At("change:taken-in", [&] {
    server_->Take(kRoot, "to");
    EXPECT_EQ(client_->Access("/", kMayRead, another_), std::errc{});
  });
  ASSERT_EQ(client_->Rename("from", "to", me_), std::errc{});
  EXPECT_TRUE(reached_);
  EXPECT_EQ(Stat("to"), 0u);
}
#endif

// A READLINK that was answered before the link changed must not bless its text after the change
// was seen (ATTR-15; ACCESS-8 for rights).
TEST_F(NfsRulesRace, ALateLinkTextDoesNotOutliveAChange) {
  const uint64_t link = server_->Add(kRoot, "link", FileType::kSymlink, "old");
  ASSERT_EQ(Stat("link", {.no_follow = true}), link);
  WhileReplyIsUnderWay("ReadLink", [&] {
    server_->SetTarget(link, "new");
    List("/");
  });
  EXPECT_EQ(Link("link"), "old");
  EXPECT_TRUE(reply_came_);
  EXPECT_EQ(Link("link"), "new");
}

// A name that was revalidated in one directory while it was moved to another must not pass for one
// that is known to be right in the other.
TEST_F(NfsRulesRace, ARevalidationInTheOldDirectoryDoesNotVouchForTheNameInTheNew) {
  const uint64_t a = server_->Add(kRoot, "a", FileType::kDirectory);
  const uint64_t b = server_->Add(kRoot, "b", FileType::kDirectory);
  server_->Add(a, "moved", FileType::kDirectory);
  ASSERT_NE(Stat("a/moved"), 0u);
  ASSERT_NE(Stat("b"), 0u);
  // As many changes of "a" are noticed as of "b" below.
  for (const char* name : {"one", "two"}) {
    server_->Add(a, name, FileType::kRegular);
    ASSERT_EQ(client_->Access("a", kMayRead, another_), std::errc{});
    ASSERT_EQ(client_->Access("a", kMayRead, me_), std::errc{});
  }
  WhileReplyIsUnderWay("Lookup", [&] {
    server_->Move(a, b, "moved");
    EXPECT_NE(Stat("b/moved"), 0u);
    server_->Take(b, "moved");
    EXPECT_EQ(client_->Access("b", kMayRead, another_), std::errc{});
  });
  EXPECT_NE(Stat("a/moved"), 0u);
  EXPECT_TRUE(reply_came_);
  EXPECT_EQ(Stat("b/moved"), 0u);
}

// A reply that took longer than that to a later change is older than what we know. ATTR-10.
TEST_F(NfsRulesRace, TheReplyToAWriteDoesNotUndoThatOfALaterOne) {
  server_->Add(kRoot, "file", FileType::kRegular);
  auto file = client_->Open("file", kMayWrite, me_);
  ASSERT_TRUE(file);
  const std::array<std::byte, 100> data{};
  WhileReplyIsUnderWay("Write", [&] { EXPECT_EQ((*file)->PWrite(data, 100), 100u); });
  EXPECT_EQ((*file)->PWrite(data, 0), 100u);
  EXPECT_TRUE(reply_came_);
  auto attributes = client_->Stat("file", me_);
  ASSERT_TRUE(attributes);
  EXPECT_EQ(attributes->size_bytes, 200u);
}

// An error of the server says nothing of the tree that a strict walk could wait for.
TEST_F(NfsRulesRace, AStrictWalkReportsAnErrorOfTheServerAtOnce) {
  server_->FailLookups(std::errc::io_error);
  auto attributes = client_->Stat("file", me_, {.strict = true});
  ASSERT_FALSE(attributes);
  EXPECT_EQ(attributes.error(), std::errc::io_error);
  EXPECT_EQ(server_->lookups(), 1u);
}

}  // namespace
}  // namespace nfswalk
