// A listing in several calls, and a directory that becomes stale between two of them.
#include "nfsclient/nfs/readdir.h"

#include <gtest/gtest.h>

#include <string>
#include <system_error>
#include <vector>

#include "tests/fixtures/memory_mount.h"

namespace nfswalk {
namespace {

class ReadDirectoryTest : public MemoryMount {
 protected:
  ReadDirectoryTest() {
    server_->ListAtMost(1);
    const uint64_t directory = server_->Add(kRoot, "d", FileType::kDirectory);
    for (const char* name : {"a", "b", "c"}) server_->Add(directory, name, FileType::kRegular);
    Mount();
  }
  std::errc List(std::vector<std::string>& names) {
    return client_->ReadDir("d", me_, [&](const DirectoryEntry& entry) {
      names.push_back(entry.name);
      return true;
    });
  }
};

TEST_F(ReadDirectoryTest, GoesOnWhereTheLastCallEnded) {
  std::vector<std::string> names;
  EXPECT_EQ(List(names), std::errc{});
  EXPECT_EQ(names.size(), 3u);
}

// Repeating the walk would return the first entries twice.
TEST_F(ReadDirectoryTest, DoesNotBeginAgainWithADirectoryThatBecameStale) {
  on_reply_ = [&](const fixtures::Call& call) {
    if (call.procedure == "READDIR") protocol_->FailOnce("READDIR", protocol::kStale);
  };
  std::vector<std::string> names;
  EXPECT_EQ(List(names), protocol::kStale);
  EXPECT_EQ(names.size(), 1u);
}

TEST_F(ReadDirectoryTest, LooksForADirectoryThatWasStaleFromTheStart) {
  protocol_->FailOnce("READDIR", protocol::kStale);
  std::vector<std::string> names;
  EXPECT_EQ(List(names), std::errc{});
  EXPECT_EQ(names.size(), 3u);
}

}  // namespace
}  // namespace nfswalk
