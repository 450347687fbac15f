// A directory is listed instead after several lookups in it.
#include "nfsclient/nfs/list_ahead.h"

#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "tests/fixtures/memory_mount.h"

namespace nfswalk {
namespace {

class ListAhead : public MemoryMount {
 protected:
  static constexpr int kFiles = 20;

  void MountAnew() {
    NewServer();
    directory_ = server_->Add(kRoot, "d", FileType::kDirectory);
    for (int i = 0; i < kFiles; ++i) server_->Add(directory_, NameOf(i), FileType::kRegular);
    Mount();
  }
  static std::string NameOf(int i) { return "f" + std::to_string(i); }
  void LookAtAll(ResolveFlags flags = {}) const {
    for (int i = 0; i < kFiles; ++i) EXPECT_TRUE(IsFile(Stat("d/" + NameOf(i), flags)));
  }
  size_t listings() const { return protocol_->Calls("READDIR"); }

  uint64_t directory_ = 0;
};

// NAME-21.
TEST_F(ListAhead, TheFourthNameBringsTheRest) {
  MountAnew();
  LookAtAll();
  EXPECT_EQ(listings(), 1u);
  EXPECT_EQ(protocol_->Calls("LOOKUP"), 1u + 4u);  // "d", and four in it
}

TEST_F(ListAhead, NamesThatAreNotThereDoNotCount) {
  MountAnew();
  for (int i = 0; i < kFiles; ++i) EXPECT_EQ(Stat("d/missing" + NameOf(i)), kMissing);
  EXPECT_EQ(listings(), 0u);
}

TEST_F(ListAhead, OneThreadListsForAll) {
  MountAnew();
  std::vector<std::thread> threads;
  for (int i = 0; i < 8; ++i) threads.emplace_back([&] { LookAtAll(); });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(listings(), 1u);
}

TEST_F(ListAhead, ADirectoryThatOthersChangeAllTheTimeIsNotListedAllTheTime) {
  MountAnew();
  for (int round = 0; round < 30; ++round) {
    server_->Add(directory_, "new" + std::to_string(round), FileType::kRegular);
    client_->InvalidateCaches();
    LookAtAll();
  }
  EXPECT_LE(listings(), 3u);
}

TEST_F(ListAhead, AScanThatKeepsNothingListsNothing) {
  MountAnew();
  LookAtAll({.dont_cache = true});
  EXPECT_EQ(listings(), 0u);
}

TEST_F(ListAhead, NotWithoutRdirplusOrCaches) {
  const std::function<void(MountOptions&)> changes[] = {
      [](MountOptions& options) { options.rdirplus = false; },
      [](MountOptions& options) { options.acdirmin_s = options.acdirmax_s = 0; },
      [](MountOptions& options) { options.lookupcache = LookupCache::kNone; }};
  for (const auto& change : changes) {
    options_ = MountOptions();
    options_.acregmin_s = options_.acregmax_s = options_.acdirmin_s = options_.acdirmax_s = 600;
    change(options_);
    MountAnew();
    LookAtAll();
    EXPECT_EQ(listings(), 0u);
  }
}

}  // namespace
}  // namespace nfswalk
