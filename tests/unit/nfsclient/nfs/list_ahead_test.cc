// A directory of which name after name is asked for is listed once instead.
#include "nfsclient/nfs/list_ahead.h"

#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "nfsclient/client.h"
#include "tests/fixtures/memory_server.h"

namespace nfswalk {
namespace {

using fixtures::MemoryServer;
using protocol::FileType;

class ListAhead : public testing::Test {
 protected:
  static constexpr int kFiles = 20;

  void Mount(const std::function<void(MountOptions&)>& change = [](MountOptions&) {}) {
    auto server = std::make_unique<MemoryServer>();
    server_ = server.get();
    directory_ = server_->Add(MemoryServer::kRoot, "d", FileType::kDirectory);
    for (int i = 0; i < kFiles; ++i) server_->Add(directory_, NameOf(i), FileType::kRegular);
    server_->OnReply(
        [this](std::string_view call, std::string_view) { listings_ += call == "ReadDir"; });
    MountOptions options;
    options.acregmin_s = options.acregmax_s = options.acdirmin_s = options.acdirmax_s = 600;
    change(options);
    client_ = std::move(*Client::MountOver(std::move(server), options));
  }
  static std::string NameOf(int i) { return "f" + std::to_string(i); }
  bool Exists(std::string_view path, ResolveFlags flags = {}) {
    return client_->Stat(path, me_, flags).has_value();
  }
  void LookAtAll(ResolveFlags flags = {}) {
    for (int i = 0; i < kFiles; ++i) EXPECT_TRUE(Exists("d/" + NameOf(i), flags));
  }

  const Credential me_{1, 1};
  MemoryServer* server_ = nullptr;
  uint64_t directory_ = 0;
  std::atomic<int> listings_ = 0;
  std::unique_ptr<Client> client_;
};

// NAME-21.
TEST_F(ListAhead, TheFourthNameBringsTheRest) {
  Mount();
  LookAtAll();
  EXPECT_EQ(listings_, 1);
  EXPECT_EQ(server_->lookups(), 1u + 4u);  // "d", and four in it
}

TEST_F(ListAhead, NamesThatAreNotThereDoNotCount) {
  Mount();
  for (int i = 0; i < kFiles; ++i) EXPECT_FALSE(Exists("d/missing" + NameOf(i)));
  EXPECT_EQ(listings_, 0);
}

TEST_F(ListAhead, OneThreadListsForAll) {
  Mount();
  std::vector<std::thread> threads;
  for (int i = 0; i < 8; ++i) threads.emplace_back([&] { LookAtAll(); });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(listings_, 1);
}

TEST_F(ListAhead, ADirectoryThatOthersChangeAllTheTimeIsNotListedAllTheTime) {
  Mount();
  for (int round = 0; round < 30; ++round) {
    server_->Add(directory_, "new" + std::to_string(round), FileType::kRegular);
    client_->InvalidateCaches();
    LookAtAll();
  }
  EXPECT_LE(listings_, 3);
}

TEST_F(ListAhead, AScanThatKeepsNothingListsNothing) {
  Mount();
  LookAtAll({.dont_cache = true});
  EXPECT_EQ(listings_, 0);
}

TEST_F(ListAhead, NotWhereTheMountDoesNotWantItOrBelievesNothing) {
  const std::function<void(MountOptions&)> changes[] = {
      [](MountOptions& options) { options.rdirplus = false; },
      [](MountOptions& options) { options.acdirmin_s = options.acdirmax_s = 0; },
      [](MountOptions& options) { options.lookupcache = LookupCache::kNone; }};
  for (const auto& change : changes) {
    Mount(change);
    LookAtAll();
    EXPECT_EQ(listings_, 0);
  }
}

}  // namespace
}  // namespace nfswalk
