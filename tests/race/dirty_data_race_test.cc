// Data that is read while it is written, synced and overwritten: forced interleavings of a client
// with a server in memory.
#include <gtest/gtest.h>

#include <array>
#include <cstddef>
#include <memory>
#include <optional>
#include <system_error>

#include "nfsclient/nfs/attribute_cache.h"
#include "nfsclient/superblock/superblock.h"
#include "rcu/sync_point.h"
#include "tests/fixtures/client_internals.h"
#include "tests/fixtures/memory_mount.h"

namespace nfswalk {
namespace {

class DirtyDataRace : public MemoryMount {
 protected:
  DirtyDataRace() {
    server_->Add(kRoot, "file", FileType::kRegular);
    Mount();
    file_ = std::move(*client_->Open("file", kMayRead | kMayWrite, me_));
  }
  ~DirtyDataRace() override { file_ = nullptr; }

  // Makes the next read ask the server, which may have more than was written here.
  void ForgetTheSize() { client_->InvalidateCaches(); }
  size_t BytesKept() { return ClientInternals::SuperblockOf(*client_).dirty_files.bytes(); }

  const std::array<std::byte, 100> ones_ = [] {
    std::array<std::byte, 100> bytes;
    bytes.fill(std::byte{1});
    return bytes;
  }();
  std::unique_ptr<File> file_;
};

#ifndef NDEBUG
// A Sync() keeps what a READ in flight has to show, until that ends. It ends while a writer, which
// holds the inode's lock, is about to replace a part of it.
TEST_F(DirtyDataRace, DataIsKeptForAReadThatBeganBeforeItWasStable) {
  ASSERT_EQ(file_->PWrite(ones_, 0), ones_.size());
  std::array<std::byte, 150> seen;
  std::optional<Actor> writer;
  const StopAt found("write_back:before-write");
  size_t kept = 0;
  WhileReplyIsInFlight("READ", [&] {
    EXPECT_EQ(file_->Sync(), std::errc{});
    kept = BytesKept();
    writer.emplace([this] { EXPECT_EQ(file_->PWrite(ones_, 50), ones_.size()); });
    EXPECT_TRUE(found.Reached(*writer));
  });
  ForgetTheSize();
  EXPECT_EQ(file_->PRead(seen, 0), ones_.size());
  ASSERT_TRUE(reply_came_);
  EXPECT_EQ(seen[0], std::byte{1});
  EXPECT_EQ(seen[99], std::byte{1});
  EXPECT_GT(kept, 0u);
  EXPECT_EQ(BytesKept(), 0u);
}
#endif

#ifndef NDEBUG
// ATTR-19. Between the moment when data leaves and the one when the reply's attributes are known.
TEST_F(DirtyDataRace, AReadEndsWithTheFileWhenItsDataHasJustLeft) {
  std::array<std::byte, 150> seen;
  std::optional<size_t> count;
  rcu::SyncPointScript::OnReach("write_back:reply-taken-in",
                                [&] { count = file_->PRead(seen, 0).value_or(0); });
  ASSERT_EQ(file_->PWrite(ones_, 0), ones_.size());
  EXPECT_EQ(file_->Sync(), std::errc{});
  rcu::SyncPointScript::ClearAll();
  EXPECT_EQ(count, ones_.size());
  EXPECT_EQ(file_->PRead(seen, 0), ones_.size());
}
#endif

#ifndef NDEBUG
// ATTR-19. Changes of its names beside the GETATTR make the reply old.
TEST_F(DirtyDataRace, AnAppendGoesToTheEndThoughItsAttributesAreOvertaken) {
  const uint64_t id = file_->attributes().fileid;
  server_->Edit(id, [](Attributes& attributes) { attributes.size_bytes = 500; });
  nfs::Superblock& superblock = ClientInternals::SuperblockOf(*client_);
  bool is_reached = false;
  rcu::SyncPointScript::OnReach("append:after-getattr", [&] {
    is_reached = true;
    nfs::InvalidateAll(superblock);
  });
  EXPECT_EQ(file_->Append(ones_), ones_.size());
  rcu::SyncPointScript::ClearAll();
  EXPECT_TRUE(is_reached);
  EXPECT_EQ(file_->attributes().size_bytes, 600u);
}
#endif

// Data that was kept for a READ in flight is not shown by READs that begin later.
TEST_F(DirtyDataRace, CommittedDataIsReadFromTheServer) {
  std::array<std::byte, 150> seen;
  ASSERT_EQ(file_->PWrite(ones_, 0), ones_.size());
  WhileReplyIsInFlight("READ", [&] { EXPECT_EQ(file_->Sync(), std::errc{}); });
  ForgetTheSize();
  EXPECT_EQ(file_->PRead(seen, 0), ones_.size());
  ASSERT_TRUE(reply_came_);
  ASSERT_TRUE(file_->SetAttributesOf({.size_bytes = 10}));
  ASSERT_EQ(file_->PWrite(std::span(ones_).first(5), 20), 5u);
  EXPECT_EQ(file_->attributes().size_bytes, 25u);
  EXPECT_EQ(file_->PRead(seen, 0), 25u);
  EXPECT_EQ(seen[15], std::byte{0});
  EXPECT_EQ(seen[24], std::byte{1});
}

}  // namespace
}  // namespace nfswalk
