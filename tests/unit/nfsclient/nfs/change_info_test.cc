// What our own changes do to what we know of the directory (ATTR-11), as version 4 tells
// of them.
#include <gtest/gtest.h>

#include <functional>
#include <memory>

#include "nfsclient/client.h"
#include "tests/fixtures/memory_server.h"

namespace nfswalk {
namespace {

using fixtures::MemoryServer;
using protocol::FileType;

class ChangeInfo : public testing::Test {
 protected:
  void Mount(bool atomic) {
    auto server = std::make_unique<MemoryServer>();
    server_ = server.get();
    server_->AnswerChangeInfo(atomic);
    directory_ = server_->Add(MemoryServer::kRoot, "d", FileType::kDirectory);
    server_->Add(directory_, "sibling", FileType::kRegular);
    MountOptions options;
    options.acregmin_s = options.acregmax_s = options.acdirmin_s = options.acdirmax_s = 600;
    client_ = std::move(*Client::MountOver(std::move(server), options));
    Look();
  }
  void Look() {
    EXPECT_TRUE(client_->Stat("d/sibling", me_).has_value());
    EXPECT_FALSE(client_->Stat("d/missing", me_).has_value());
  }
  uint64_t Rpcs(const std::function<void()>& story) {
    const uint64_t before = server_->rpcs_sent();
    story();
    return server_->rpcs_sent() - before;
  }
  void ChangeSomething() {
    EXPECT_TRUE(client_->Create("d/own", 0644, true, me_).has_value());
    EXPECT_EQ(client_->Rename("d/own", "d/renamed", me_), std::errc{});
    EXPECT_EQ(client_->Unlink("d/renamed", me_), std::errc{});
  }

  const Credential me_{1, 1};
  MemoryServer* server_ = nullptr;
  uint64_t directory_ = 0;
  std::unique_ptr<Client> client_;
};

// ATTR-11.
TEST_F(ChangeInfo, AnAtomicChangeOfOursCostsTheSiblingsNothing) {
  Mount(true);
  ChangeSomething();
  EXPECT_EQ(Rpcs([&] { Look(); }), 0u);
}

// Somebody may have come in between: each name is asked for once more, rights and attributes not.
// ATTR-12.
TEST_F(ChangeInfo, AChangeThatIsNotAtomicCostsEachNameOneLookup) {
  Mount(false);
  ChangeSomething();
  const uint64_t lookups = server_->lookups();
  EXPECT_EQ(Rpcs([&] { Look(); }), 2u);
  EXPECT_EQ(server_->lookups(), lookups + 2);
  EXPECT_EQ(Rpcs([&] { Look(); }), 0u);
}

// ATTR-12.
TEST_F(ChangeInfo, AChangeThatTheServerRefusesCostsNothing) {
  Mount(false);
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(client_->MakeDirectory("d/sibling", 0755, me_).error(), std::errc::file_exists);
  }
  // The name that was asked for is looked up anew, and nothing else.
  EXPECT_EQ(Rpcs([&] { Look(); }), 1u);
}

TEST_F(ChangeInfo, AForeignChangeBeforeOursIsSeenEitherWay) {
  for (const bool atomic : {true, false}) {
    Mount(atomic);
    server_->Add(directory_, "missing", FileType::kRegular);
    ChangeSomething();
    EXPECT_TRUE(client_->Stat("d/missing", me_).has_value()) << atomic;
  }
}

}  // namespace
}  // namespace nfswalk
