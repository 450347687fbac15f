// A reply that tells of a whole path, and what happens to the path while it is under way or being
// taken in: forced interleavings of a client with a server in memory.
#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "nfsclient/client.h"
#include "rcu/sync_point.h"
#include "tests/fixtures/memory_server.h"
#include "tests/race/interleavings.h"

namespace nfswalk {
namespace {

using fixtures::MemoryServer;
using protocol::FileType;

class WholePathRace : public testing::Test {
 protected:
  WholePathRace() {
    auto server = std::make_unique<MemoryServer>();
    server_ = server.get();
    server_->AnswerWholePaths();
    server_->OnReply([this](std::string_view call, std::string_view) {
      calls_.emplace_back(call);
      if (call == "LookupPath" && meanwhile_) std::exchange(meanwhile_, nullptr)();
    });
    a_ = server_->Add(MemoryServer::kRoot, "a", FileType::kDirectory);
    b_ = server_->Add(a_, "b", FileType::kDirectory);
    file_ = server_->Add(b_, "file", FileType::kRegular);
    MountOptions options;
    options.acregmin_s = options.acregmax_s = options.acdirmin_s = options.acdirmax_s = 600;
    client_ = std::move(*Client::MountOver(std::move(server), options));
  }

  void TearDown() override { rcu::SyncPointScript::ClearAll(); }

  // Runs `meanwhile` on a thread of its own while the next reply of a whole path is on its way.
  void WhileReplyIsUnderWay(std::function<void()> meanwhile) {
    meanwhile_ = [meanwhile = std::move(meanwhile)] { std::thread(meanwhile).join(); };
  }

  // The file id, or 0 for ENOENT.
  uint64_t Stat(std::string_view path) {
    auto attributes = client_->Stat(path, me_);
    if (attributes) return attributes->fileid;
    EXPECT_EQ(attributes.error(), std::errc::no_such_file_or_directory) << path;
    return 0;
  }
  // The client takes in the current attributes of everything in a directory.
  void List(std::string_view path) {
    EXPECT_EQ(client_->ReadDir(path, me_, [](const auto&) { return true; }), std::errc{});
  }
  size_t CallsOf(const std::function<void()>& story) {
    const size_t before = calls_.size();
    story();
    return calls_.size() - before;
  }

  const Credential me_{1, 1}, another_{2, 2};
  MemoryServer* server_;
  uint64_t a_ = 0, b_ = 0, file_ = 0;
  std::unique_ptr<Client> client_;
  std::function<void()> meanwhile_;
  std::vector<std::string> calls_;
};

// NAME-24.
TEST_F(WholePathRace, OneCallBringsThePathAndEverythingOnIt) {
  EXPECT_EQ(CallsOf([&] { EXPECT_EQ(Stat("a/b/file"), file_); }), 1u);
  EXPECT_EQ(CallsOf([&] {
              EXPECT_EQ(Stat("a"), a_);
              EXPECT_EQ(Stat("a/b"), b_);
              EXPECT_EQ(client_->Access("a/b/file", kMayRead, me_), std::errc{});
            }),
            0u);
}

TEST_F(WholePathRace, ANameThatWeRemoveMeanwhileDoesNotComeBack) {
  ASSERT_EQ(Stat("a/b"), b_);
  WhileReplyIsUnderWay([&] { EXPECT_EQ(client_->Unlink("a/b/file", me_), std::errc{}); });
  (void)client_->Stat("a/b/file", another_);
  EXPECT_EQ(Stat("a/b/file"), 0u);
}

TEST_F(WholePathRace, ANameThatWeCreateMeanwhileIsNotForgotten) {
  ASSERT_EQ(Stat("a/b"), b_);
  WhileReplyIsUnderWay(
      [&] { EXPECT_TRUE(client_->Create("a/b/new", 0644, true, me_).has_value()); });
  (void)client_->Stat("a/b/new", another_);
  EXPECT_NE(Stat("a/b/new"), 0u);
}

// The directory was moved by us while the server's answer of where it used to be was on its way.
TEST_F(WholePathRace, ADirectoryThatWeMoveMeanwhileStaysWhereItIs) {
  ASSERT_EQ(Stat("a/b/file"), file_);
  WhileReplyIsUnderWay([&] { EXPECT_EQ(client_->Rename("a/b", "a/c", me_), std::errc{}); });
  (void)client_->Stat("a/b/file", another_);
  EXPECT_EQ(Stat("a/c/file"), file_);
  EXPECT_EQ(Stat("a/b/file"), 0u);
}

// Another client's change that we learn of before the older answer arrives.
TEST_F(WholePathRace, AnOlderAnswerDoesNotVouchForANameAfterAChangeThatWeKnowOf) {
  ASSERT_EQ(Stat("a/b/file"), file_);
  WhileReplyIsUnderWay([&] {
    server_->Take(b_, "file");
    List("a/b");
  });
  (void)client_->Stat("a/b/file", another_);
  EXPECT_EQ(Stat("a/b/file"), 0u);
}

// ATTR-17.
TEST_F(WholePathRace, WhatIsInvalidatedMeanwhileIsAskedForAgain) {
  WhileReplyIsUnderWay([&] {
    server_->Take(b_, "file");
    client_->InvalidateCaches();
  });
  (void)client_->Stat("a/b/file", me_);
  // What was not known before the call was sent cannot have been invalidated: this is as if the
  // caches had been told a moment too early.
  client_->InvalidateCaches();
  EXPECT_EQ(Stat("a/b/file"), 0u);
}

TEST_F(WholePathRace, DroppingTheCachesMeanwhileHarmsNothing) {
  ASSERT_EQ(Stat("a/b/file"), file_);
  client_->InvalidateCaches();
  WhileReplyIsUnderWay([&] { client_->DropCaches(); });
  EXPECT_EQ(Stat("a/b/file"), file_);
  EXPECT_EQ(Stat("a/b/file"), file_);
}

TEST_F(WholePathRace, EightThreadsThatMissTheSamePathSendOneCall) {
  std::vector<std::thread> threads;
  for (int i = 0; i < 8; ++i) {
    threads.emplace_back([&] { EXPECT_TRUE(client_->Stat("a/b/file", me_).has_value()); });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(server_->rpcs_sent(), 1u);
}

// The second thread comes to a directory that the first has just brought, and wants a name in it
// that is part of the same reply.
TEST_F(WholePathRace, WhoFollowsBehindAReplyWaitsForTheNamesToCome) {
  StopAt between("path-lookup:between-names");
  StopAt waits("lookups:before-wait");
  Actor first([&] { EXPECT_EQ(Stat("a/b/file"), file_); });
  ASSERT_TRUE(between.Reached(first));
  Actor second([&] { EXPECT_EQ(Stat("a/b/file"), file_); });
  EXPECT_TRUE(waits.Reached(second));
  waits.LetGo();
  between.LetGo();
  first.Join();
  second.Join();
  EXPECT_EQ(server_->rpcs_sent(), 1u);
}

}  // namespace
}  // namespace nfswalk
