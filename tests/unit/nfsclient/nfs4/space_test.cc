// SEEK, ALLOCATE and DEALLOCATE of version 4.2, and of servers without them.
#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <string>
#include <system_error>

#include "nfsclient/nfs4/nfs4.h"
#include "nfsclient/nfs4/operation_names.h"
#include "tests/fixtures/fake_nfs4.h"
#include "tests/fixtures/libnfs_raw.h"

namespace nfswalk::protocol {
namespace {

using Kind = FakeFault::Kind;

constexpr std::errc kNone = std::errc::no_such_device_or_address;
constexpr std::errc kNotSupported = std::errc::operation_not_supported;
const Credential kRoot(0, 0);

class SpaceTest : public testing::Test {
 protected:
  explicit SpaceTest(uint32_t minor_version = 2) {
    server_.Offer({0, 1, 2});
    server_.Put("f", {.data = std::string("data\0\0\0\0more\0\0\0\0", 16)});
    nfs_ =
        std::move(*Nfs4::ConnectNfs4({"127.0.0.1", "/", server_.port(), 0, 4, minor_version}, {}));
    root_ = nfs_->GetRoot(kRoot).handle;
    file_ = nfs_->Lookup(root_, "f", kRoot).handle;
    open_ = nfs_->Open(root_, "f", file_, true, true, kRoot);
  }
  SeekReply Seek(uint64_t offset, Content content) {
    return nfs_->Seek(file_, offset, content, open_.state.get(), kRoot);
  }
  FileChangeReply Allocate(const Allocation& allocation) {
    return *nfs_->StartAllocate(file_, allocation, open_.state.get(), kRoot)->Finish();
  }
  std::string data() { return server_.Find("f")->data; }

  FakeNfs4 server_;
  std::unique_ptr<Protocol> nfs_;
  FileHandle root_, file_;
  OpenReply open_;
};

TEST_F(SpaceTest, ASeekFindsDataAndHoles) {
  const struct {
    uint64_t from;
    Content content;
    std::errc error;
    uint64_t found = 0;
  } rows[] = {
      {0, Content::kData, {}, 0},  {3, Content::kData, {}, 3},   {4, Content::kData, {}, 8},
      {9, Content::kData, {}, 9},  {12, Content::kData, kNone},  {16, Content::kData, kNone},
      {99, Content::kData, kNone}, {0, Content::kHole, {}, 4},   {5, Content::kHole, {}, 5},
      {8, Content::kHole, {}, 12}, {15, Content::kHole, {}, 15}, {16, Content::kHole, kNone}};
  for (const auto& row : rows) {
    const SeekReply reply = Seek(row.from, row.content);
    EXPECT_EQ(reply.error, row.error) << row.from;
    EXPECT_EQ(reply.offset_bytes, row.found) << row.from;
  }
}

// RFC 7862 15.11.3: another way to say that there is no data.
TEST_F(SpaceTest, AnEndWhereDataWasLookedForIsNoData) {
  server_.Inject(kOpSeek, {.kind = Kind::kForged, .forge = [](const std::string&) {
                             return Xdr().U32(kOpSeek, NFS4_OK, 1).U64(16).str();
                           }});
  EXPECT_EQ(Seek(0, Content::kData).error, kNone);
}

TEST_F(SpaceTest, AllocatedSpaceGrowsTheFileAndAHoleDoesNot) {
  const FileChangeReply grown = Allocate({.offset_bytes = 20, .size_bytes = 4});
  EXPECT_EQ(grown.error, kOk);
  ASSERT_TRUE(grown.file.after.has_value());
  EXPECT_EQ(grown.file.after->size_bytes, 24u);
  EXPECT_TRUE(grown.file.before.has_value());
  const FileChangeReply cut = Allocate({.offset_bytes = 8, .size_bytes = 99, .is_hole = true});
  EXPECT_EQ(cut.error, kOk);
  EXPECT_EQ(data(), std::string("data") + std::string(20, '\0'));
}

TEST_F(SpaceTest, AFailureIsTheServers) {
  for (const int status : {NFS4ERR_NOSPC, NFS4ERR_DQUOT, NFS4ERR_FBIG, NFS4ERR_ROFS}) {
    server_.Inject(kOpAllocate, {.status = status});
    EXPECT_NE(Allocate({.offset_bytes = 0, .size_bytes = 1}).error, kOk) << status;
  }
  EXPECT_EQ(Allocate({.offset_bytes = 0, .size_bytes = 1}).error, kOk);
}

TEST_F(SpaceTest, AStateThatIsLostIsRecovered) {
  server_.ForgetOpens("f");
  EXPECT_EQ(Allocate({.offset_bytes = 0, .size_bytes = 4, .is_hole = true}).error, kOk);
  server_.Restart(false);
  EXPECT_EQ(Allocate({.offset_bytes = 0, .size_bytes = 20}).error, kOk);
  EXPECT_EQ(data().size(), 20u);
}

TEST_F(SpaceTest, AHoleWhoseReplyIsLostIsPunchedOnce) {
  server_.Inject(kOpDeallocate, {.kind = Kind::kLoseReply});
  EXPECT_EQ(Allocate({.offset_bytes = 0, .size_bytes = 4, .is_hole = true}).error, kOk);
  EXPECT_EQ(server_.calls(kOpDeallocate), 1);
}

TEST_F(SpaceTest, AnOperationThatTheServerDoesNotKnowIsAskedForOnce) {
  // Statuses but NFS4ERR_OP_ILLEGAL are about this file or its file system: SEEK is sent again.
  for (const int status : {NFS4ERR_NOTSUPP, NFS4ERR_OPENMODE, NFS4ERR_OP_ILLEGAL}) {
    server_.Inject(kOpSeek, {.status = status});
    EXPECT_EQ(Seek(0, Content::kData).error, kNotSupported) << status;
  }
  EXPECT_EQ(Seek(0, Content::kData).error, kNotSupported);
  EXPECT_EQ(server_.calls(kOpSeek), 3);
  server_.Inject(kOpAllocate, {.status = NFS4ERR_NOTSUPP});
  EXPECT_EQ(Allocate({.offset_bytes = 0, .size_bytes = 1}).error, kNotSupported);
  server_.Inject(kOpAllocate, {.status = NFS4ERR_OP_ILLEGAL});
  EXPECT_EQ(Allocate({.offset_bytes = 0, .size_bytes = 1}).error, kNotSupported);
  EXPECT_EQ(Allocate({.offset_bytes = 0, .size_bytes = 1}).error, kNotSupported);
  EXPECT_EQ(server_.calls(kOpAllocate), 2);
}

class SpaceBeforeVersion4Point2 : public SpaceTest {
 protected:
  SpaceBeforeVersion4Point2() : SpaceTest(1) {}
};

TEST_F(SpaceBeforeVersion4Point2, IsNotAskedFor) {
  EXPECT_EQ(Seek(0, Content::kData).error, kNotSupported);
  EXPECT_EQ(Allocate({.offset_bytes = 0, .size_bytes = 1}).error, kNotSupported);
  EXPECT_EQ(server_.calls(kOpSeek) + server_.calls(kOpAllocate), 0);
}

}  // namespace
}  // namespace nfswalk::protocol
