// Interleavings that the oracle has found: after an own change the client's caches agree with the
// server.
#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "nfsclient/client.h"
#include "rcu/sync_point.h"
#include "tests/stress/oracle_server.h"

namespace nfswalk::stress {
namespace {

class OwnChange : public testing::Test {
 protected:
  OwnChange() {
    auto server = std::make_unique<OracleServer>(
        clock_, OracleServer::Options{.on_reply = [this](std::string_view call) {
          if (call == awaited_call_) std::exchange(meanwhile_, [] {})();
        }});
    server_ = server.get();
    MountOptions options;
    options.acregmin_s = options.acregmax_s = options.acdirmin_s = options.acdirmax_s = 600;
    client_ = std::move(*Client::MountOver(std::move(server), options));
  }

  // Runs `meanwhile` while the next reply of `call` is in flight.
  void WhileReplyIsUnderWay(std::string_view call, std::function<void()> meanwhile) {
    awaited_call_ = call;
    meanwhile_ = [this, meanwhile = std::move(meanwhile)] {
      came_ = true;
      meanwhile();
    };
  }
  Attributes Stat(std::string_view path) {
    auto attributes = client_->Stat(path, me_);
    EXPECT_TRUE(attributes.has_value()) << path;
    return attributes.value_or(Attributes{});
  }
  const Attributes& AtServer(NodeId node) { return server_->history().at(node).attributes.now(); }
  NodeId MakeDirectory(std::string_view path) {
    auto made = client_->MakeDirectory(path, 0755, me_);
    EXPECT_TRUE(made.has_value()) << path;
    return made ? made->fileid : kNothing;
  }
  NodeId MakeFile(std::string_view path) {
    auto made = client_->Create(path, 0644, true, me_);
    EXPECT_TRUE(made.has_value()) << path;
    return made ? made->fileid : kNothing;
  }
  void Rename(std::string_view from, std::string_view to) {
    EXPECT_EQ(client_->Rename(from, to, me_), std::errc{}) << from << " to " << to;
  }

  TickClock clock_;
  const Credential me_{OracleServer::kSuperuser, 0};
  OracleServer* server_;
  std::string_view awaited_call_;
  std::function<void()> meanwhile_ = [] {};
  bool came_ = false;
  std::unique_ptr<Client> client_;
};

TEST_F(OwnChange, AFileRenamedOntoItselfIsStillFound) {
  const NodeId file = MakeFile("f");
  Rename("f", "f");
  EXPECT_EQ(Stat("f").fileid, file);
}

// The reply to the creation is older than the concurrent rename.
TEST_F(OwnChange, TheReplyToACreationDoesNotRevalidateWhatARenameInvalidated) {
  const NodeId directory = MakeDirectory("d");
  WhileReplyIsUnderWay("Create", [&] { Rename("d", "e"); });
  MakeFile("d/f");
  EXPECT_TRUE(came_);
  EXPECT_EQ(Stat("e"), AtServer(directory));
}

// The inode with the change's attributes was evicted while the older reply was in flight.
TEST_F(OwnChange, AReplyFromBeforeAnOwnChangeDoesNotFillANewInode) {
  const NodeId file = MakeFile("f");
  ASSERT_EQ(client_->Link("f", "g", me_), std::errc{});
  ASSERT_EQ(Stat("g").fileid, file);
  client_->DropCaches();
  ASSERT_EQ(Stat("f").fileid, file);
  WhileReplyIsUnderWay("Lookup", [&] {
    EXPECT_TRUE(client_->SetAttributesOf("f", {.mode = 0600}, me_).has_value());
    client_->DropCaches();
  });
  (void)Stat("g");
  EXPECT_TRUE(came_);
  EXPECT_EQ(Stat("g"), AtServer(file));
}

// The reply was refused as outdated, and the cached attributes were older than the request.
// ATTR-10.
TEST_F(OwnChange, AStatOvertakenByARenameReturnsLaterAttributes) {
  const NodeId file = MakeFile("a");
  Rename("a", "b");
  const Attributes since = AtServer(file);
  WhileReplyIsUnderWay("GetAttributes", [&] { Rename("b", "c"); });
  const Attributes seen = Stat("b");
  EXPECT_TRUE(came_);
  EXPECT_GE(seen.ctime.seconds, since.ctime.seconds);
}

// The unlink had one name cached: the inode of the new name was no longer found by its handle, and
// changes by other names were not seen by this one.
TEST_F(OwnChange, ALinkMadeDuringAnUnlinkLeadsToTheInodeOfOtherLinks) {
  MakeDirectory("d");
  const NodeId file = MakeFile("f");
  ASSERT_EQ(Stat("f").nlink, 1u);
  WhileReplyIsUnderWay("Link", [&] { EXPECT_EQ(client_->Unlink("f", me_), std::errc{}); });
  ASSERT_EQ(client_->Link("f", "d/g", me_), std::errc{});
  EXPECT_TRUE(came_);
  ASSERT_EQ(client_->Link("d/g", "d/h", me_), std::errc{});
  // One name is evicted while a walk is at the other.
  ASSERT_EQ(client_->Access("d", kMayRead, me_), std::errc{});
  came_ = false;
  WhileReplyIsUnderWay("Access", [&] { client_->DropCaches(); });
  ASSERT_EQ(client_->Access("d/g", kMayRead, me_), std::errc{});
  ASSERT_TRUE(came_);
  ASSERT_TRUE(client_->SetAttributesOf("d/h", {.mode = 0600}, me_).has_value());
  EXPECT_EQ(Stat("d/g"), AtServer(file));
}

// A file with two names of which one replaces `x` just when a change of `x` has looked up its
// inode: the change must be visible by its other name, `r`.
class OwnChangeOfAnotherFile : public OwnChange {
 protected:
  OwnChangeOfAnotherFile() : file_(MakeFile("q")) {
    MakeFile("x");
    EXPECT_EQ(client_->Link("q", "r", me_), std::errc{});
    EXPECT_EQ(Stat("r").nlink, 2u);
    rcu::SyncPointScript::OnReach("change:names-known", [this] {
      if (std::exchange(came_, true)) return;
      Rename("q", "x");
      EXPECT_EQ(Stat("r"), AtServer(file_));
    });
  }
  ~OwnChangeOfAnotherFile() override { rcu::SyncPointScript::ClearAll(); }

  void ExpectKnownAsItIs() {
    EXPECT_TRUE(came_);
    EXPECT_EQ(Stat("r"), AtServer(file_));
  }

  const NodeId file_;
};

// ATTR-16.
TEST_F(OwnChangeOfAnotherFile, AnUnlinkDropsALinkOfTheFileItRemoved) {
  EXPECT_EQ(client_->Unlink("x", me_), std::errc{});
  ExpectKnownAsItIs();
}

TEST_F(OwnChangeOfAnotherFile, ARenameDropsALinkOfTheFileItReplaced) {
  MakeFile("y");
  Rename("y", "x");
  ExpectKnownAsItIs();
}

TEST_F(OwnChangeOfAnotherFile, ARenameUpdatesTheTimesOfTheFileItMoved) {
  Rename("x", "z");
  ExpectKnownAsItIs();
}

}  // namespace
}  // namespace nfswalk::stress
