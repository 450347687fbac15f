// Client::Rename(): what it asks the server, and what a trailing slash asks for (WALK-11).
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "nfsclient/client.h"
#include "tests/fixtures/memory_server.h"

namespace nfswalk {
namespace {

using fixtures::MemoryServer;
using protocol::FileType;

// Ends RENAMEs in ESTALE.
class StaleServer : public MemoryServer {
 public:
  int stale_renames = 0;  // the next ones

  protocol::RenameReply Rename(const FileHandle& from_directory, std::string_view from_name,
                               const FileHandle& to_directory, std::string_view to_name,
                               const Credential& credential) override {
    if (stale_renames == 0) {
      return MemoryServer::Rename(from_directory, from_name, to_directory, to_name, credential);
    }
    --stale_renames;
    protocol::RenameReply reply;
    reply.error = protocol::kStale;
    return reply;
  }
};

using Calls = std::vector<std::string>;

// The parameter: whether there is an attribute cache. Without one, a name looked up twice costs
// twice.
class RenameTest : public testing::TestWithParam<bool> {
 protected:
  RenameTest() { Mount(); }

  // A new tree, and nothing cached.
  void Mount() {
    auto server = std::make_unique<StaleServer>();
    server_ = server.get();
    server_->OnReply([this](std::string_view call, std::string_view name) {
      calls_.push_back(std::string(call) + " " + std::string(name));
    });
    d_ = server_->Add(MemoryServer::kRoot, "d", FileType::kDirectory);
    server_->Add(MemoryServer::kRoot, "e", FileType::kDirectory);
    server_->Add(d_, "directory", FileType::kDirectory);
    server_->Add(d_, "file", FileType::kRegular);
    server_->Add(d_, "link", FileType::kSymlink, "directory");
    MountOptions options;
    const uint32_t lifetime_s = GetParam() ? 600 : 0;
    options.acregmin_s = options.acregmax_s = lifetime_s;
    options.acdirmin_s = options.acdirmax_s = lifetime_s;
    options.rdirplus = false;
    client_ = std::move(*Client::MountOver(std::move(server), options));
    calls_.clear();
  }
  std::errc Rename(const std::string& from, const std::string& to) {
    return client_->Rename(from, to, me_);
  }
  Calls TakeCalls() { return std::exchange(calls_, {}); }

  const Credential me_{1, 1};
  Calls calls_;
  StaleServer* server_ = nullptr;
  uint64_t d_ = 0;
  std::unique_ptr<Client> client_;
};

TEST_P(RenameTest, LooksEachNameUpOnceWithAndWithoutTrailingSlashes) {
  ASSERT_EQ(Rename("d/directory", "e/moved"), std::errc{});
  const Calls without_slash = TakeCalls();
  for (const std::string name : {"d", "e", "directory"}) {
    EXPECT_EQ(std::ranges::count(without_slash, "Lookup " + name), 1) << name;
  }
  Mount();
  ASSERT_EQ(Rename("d/directory/", "e/moved/"), std::errc{});
  EXPECT_EQ(TakeCalls(), without_slash);
}

// WALK-11.
TEST_P(RenameTest, ATrailingSlashAsksForADirectoryAndDoesNotFollowALink) {
  for (const std::string from : {"d/file", "d/link"}) {
    EXPECT_EQ(Rename(from + "/", "e/moved"), std::errc::not_a_directory) << from;
    EXPECT_EQ(Rename(from, "e/moved/"), std::errc::not_a_directory) << from;
  }
  EXPECT_EQ(Rename("d/none/", "e/moved"), std::errc::no_such_file_or_directory);
  EXPECT_EQ(std::ranges::count(calls_, "Rename none"), 0);
  EXPECT_EQ(std::ranges::count(calls_, "Rename file"), 0);
  EXPECT_EQ(Rename("d/directory", "e/moved/"), std::errc{});
  EXPECT_EQ(Rename("e/moved/", "d/directory"), std::errc{});
}

TEST_P(RenameTest, ATrailingSlashSeesADirectoryThatReplacedAFile) {
  ASSERT_TRUE(client_->Stat("d/file", me_).has_value());
  server_->Take(d_, "file");
  server_->Add(d_, "file", FileType::kDirectory);
  ASSERT_EQ(client_->Access("d", kMayRead, Credential(2, 2)), std::errc{});  // notices the change
  EXPECT_EQ(Rename("d/file/", "e/moved"), std::errc{});
}

// WALK-1.
TEST_P(RenameTest, AfterEstaleBothPathsAreWalkedOnceMore) {
  server_->stale_renames = 1;
  EXPECT_EQ(Rename("d/file", "e/moved"), std::errc{});
  for (const std::string name : {"d", "e"}) {
    EXPECT_EQ(std::ranges::count(calls_, "Lookup " + name), 2) << name;
  }
  EXPECT_EQ(std::ranges::count(calls_, "Rename file"), 1);

  server_->stale_renames = 100;
  EXPECT_EQ(Rename("e/moved", "d/file"), protocol::kStale);
  EXPECT_EQ(server_->stale_renames, 98);
}

INSTANTIATE_TEST_SUITE_P(AttributeCache, RenameTest, testing::Bool());

}  // namespace
}  // namespace nfswalk
