// A reply for a whole path, and changes to that path before it arrives or while it is cached:
// forced interleavings of a client with a server in memory.
#include <gtest/gtest.h>

#include <functional>
#include <thread>
#include <utility>
#include <vector>

#include "tests/fixtures/memory_mount.h"

namespace nfswalk {
namespace {

class WholePathRace : public MemoryMount {
 protected:
  WholePathRace() { MountTree(); }

  void MountTree() {
    NewServer();
    server_->AnswerWholePaths();
    a_ = server_->Add(kRoot, "a", FileType::kDirectory);
    b_ = server_->Add(a_, "b", FileType::kDirectory);
    file_ = server_->Add(b_, "file", FileType::kRegular);
    Mount();
  }

  // Runs `meanwhile` while the next reply of a whole path is in flight.
  void Meanwhile(std::function<void()> meanwhile) {
    WhileReplyIsInFlight("COMPOUND", std::move(meanwhile));
  }

  uint64_t a_ = 0, b_ = 0, file_ = 0;
};

// NAME-24.
TEST_F(WholePathRace, OneCallBringsThePathAndEverythingOnIt) {
  EXPECT_EQ(Rpcs([&] { EXPECT_EQ(Stat("a/b/file"), file_); }), 1u);
  EXPECT_EQ(Rpcs([&] {
              EXPECT_EQ(Stat("a"), a_);
              EXPECT_EQ(Stat("a/b"), b_);
              EXPECT_EQ(client_->Access("a/b/file", kMayRead, me_), std::errc{});
            }),
            0u);
}

// A file of another credential is looked up, and a change is made while the reply is in flight.
TEST_F(WholePathRace, AReplyDoesNotUndoAChangeMadeOrNoticedSinceItsRequest) {
  const struct {
    const char* known;
    const char* path;
    std::function<void()> change;
    const char* changed;
    const uint64_t* found;  // null: any file
  } rows[] = {
      {"a/b", "a/b/file", [&] { EXPECT_EQ(client_->Unlink("a/b/file", me_), std::errc{}); },
       "a/b/file", &kMissing},
      {"a/b", "a/b/new", [&] { EXPECT_TRUE(client_->Create("a/b/new", 0644, true, me_)); },
       "a/b/new", nullptr},
      {"a/b/file", "a/b/file", [&] { EXPECT_EQ(client_->Rename("a/b", "a/c", me_), std::errc{}); },
       "a/c/file", &file_},
      {"a/b/file", "a/b/file", [&] { EXPECT_EQ(client_->Rename("a/b", "a/c", me_), std::errc{}); },
       "a/b/file", &kMissing},
      {"a/b/file", "a/b/file",
       [&] {  // another client
         server_->Take(b_, "file");
         List("a/b");
       },
       "a/b/file", &kMissing},
  };
  for (const auto& row : rows) {
    SCOPED_TRACE(row.changed);
    MountTree();
    ASSERT_TRUE(IsFile(Stat(row.known)));
    Meanwhile(row.change);
    (void)client_->Stat(row.path, another_);
    const uint64_t found = Stat(row.changed);
    EXPECT_TRUE(row.found != nullptr ? found == *row.found : IsFile(found)) << found;
  }
}

// ATTR-17.
TEST_F(WholePathRace, PathInvalidatedDuringTheCallIsLookedUpAgain) {
  Meanwhile([&] {
    server_->Take(b_, "file");
    client_->InvalidateCaches();
  });
  (void)client_->Stat("a/b/file", me_);
  // The first call does not cover inodes that only this reply made known.
  client_->InvalidateCaches();
  EXPECT_EQ(Stat("a/b/file"), kMissing);
}

TEST_F(WholePathRace, DroppingTheCachesMeanwhileHarmsNothing) {
  ASSERT_EQ(Stat("a/b/file"), file_);
  client_->InvalidateCaches();
  Meanwhile([&] { client_->DropCaches(); });
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

// The second thread reaches a directory that the first has just filled, and looks up a name in it
// that is part of the same reply.
TEST_F(WholePathRace, ALookupWaitsForTheRestOfAPathReply) {
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
