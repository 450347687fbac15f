// A listing that takes several calls, and a directory that goes away between two of them.
#include "nfsclient/nfs/readdir.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "nfsclient/client.h"
#include "tests/fixtures/memory_server.h"

namespace nfswalk {
namespace {

using fixtures::MemoryServer;
using protocol::FileType;

// Lists one entry a call, and says ESTALE the n-th time.
class OneByOne : public MemoryServer {
 public:
  void StaleAt(int call) { stale_at_ = call; }

  protocol::ReadDirReply ReadDir(const FileHandle& directory, protocol::ReadDirPosition position,
                                 bool plus, const Credential& who) override {
    auto reply = MemoryServer::ReadDir(directory, position, plus, who);
    if (--stale_at_ == 0) reply.error = protocol::kStale;
    reply.eof = reply.entries.size() <= 1;
    if (!reply.eof) reply.entries.resize(1);
    return reply;
  }

 private:
  int stale_at_ = 0;
};

class ReadDirectoryTest : public testing::Test {
 protected:
  ReadDirectoryTest() {
    auto server = std::make_unique<OneByOne>();
    server_ = server.get();
    const uint64_t directory = server_->Add(MemoryServer::kRoot, "d", FileType::kDirectory);
    for (const char* name : {"a", "b", "c"}) server_->Add(directory, name, FileType::kRegular);
    client_ = std::move(*Client::MountOver(std::move(server), {}));
  }
  std::errc List(std::vector<std::string>& names) {
    return client_->ReadDir("d", me_, [&](const DirectoryEntry& entry) {
      names.push_back(entry.name);
      return true;
    });
  }

  const Credential me_{1, 1};
  OneByOne* server_;
  std::unique_ptr<Client> client_;
};

TEST_F(ReadDirectoryTest, GoesOnWhereTheLastCallEnded) {
  std::vector<std::string> names;
  EXPECT_EQ(List(names), std::errc{});
  EXPECT_EQ(names.size(), 3u);
}

// The third pass would show its caller the first entries once more.
TEST_F(ReadDirectoryTest, DoesNotBeginAgainWithADirectoryThatBecameStale) {
  server_->StaleAt(2);
  std::vector<std::string> names;
  EXPECT_EQ(List(names), protocol::kStale);
  EXPECT_EQ(names.size(), 1u);
}

TEST_F(ReadDirectoryTest, LooksForADirectoryThatWasStaleFromTheStart) {
  server_->StaleAt(1);
  std::vector<std::string> names;
  EXPECT_EQ(List(names), std::errc{});
  EXPECT_EQ(names.size(), 3u);
}

}  // namespace
}  // namespace nfswalk
