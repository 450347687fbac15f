// COPY of version 4.2 inside a server, and of servers without it.
#include <gtest/gtest.h>

#include <cstdint>
#include <functional>
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

constexpr std::errc kNotSupported = std::errc::operation_not_supported;
const Credential kRoot(0, 0);

class CopyTest : public testing::Test {
 protected:
  explicit CopyTest(uint32_t minor_version = 2) {
    server_.Offer({0, 1, 2});
    server_.Put("from", {.data = "0123456789"});
    server_.Put("to", {.data = "abcdefghij"});
    nfs_ =
        std::move(*Nfs4::ConnectNfs4({"127.0.0.1", "/", server_.port(), 0, 4, minor_version}, {}));
    root_ = nfs_->GetRoot(kRoot).handle;
    from_ = Open("from");
    to_ = Open("to");
  }
  struct Opened {
    FileHandle handle;
    OpenReply open;
  };
  Opened Open(const std::string& name) {
    const FileHandle handle = nfs_->Lookup(root_, name, kRoot).handle;
    return {handle, nfs_->Open(root_, name, handle, true, true, kRoot)};
  }
  FileChangeReply Copy(const CopiedRange& range) {
    return *nfs_->StartCopy(to_.handle, to_.open.state.get(), from_.handle, from_.open.state.get(),
                            range, kRoot)
                ->Finish();
  }
  // The last three of "from" to the front of "to".
  FileChangeReply CopyThree() { return Copy({.source_offset_bytes = 7, .size_bytes = 3}); }
  std::string target() { return server_.Find("to")->data; }
  bool is_committed() {
    const auto node = server_.Find("to");
    return !node->committed || *node->committed == node->data;
  }

  FakeNfs4 server_;
  std::unique_ptr<Protocol> nfs_;
  FileHandle root_;
  Opened from_, to_;
};

TEST_F(CopyTest, APartIsOnStableStorageOfTheOtherFile) {
  const FileChangeReply reply =
      Copy({.source_offset_bytes = 2, .offset_bytes = 8, .size_bytes = 5});
  EXPECT_EQ(reply.error, kOk);
  EXPECT_EQ(reply.copied_bytes, 5u);
  ASSERT_TRUE(reply.file.before.has_value());
  ASSERT_TRUE(reply.file.after.has_value());
  EXPECT_EQ(reply.file.after->size_bytes, 13u);
  EXPECT_EQ(target(), "abcdefgh23456");
  EXPECT_TRUE(is_committed());
  EXPECT_EQ(server_.calls(OP_COMMIT), 1);
}

TEST_F(CopyTest, AServerThatCopiesLessSaysSo) {
  server_.set_write_bytes_max(2);
  EXPECT_EQ(CopyThree().copied_bytes, 2u);
  EXPECT_EQ(target(), "78cdefghij");
}

// WIRE-43. The server loses what it has not committed between the COPY and the COMMIT.
TEST_F(CopyTest, ACopyThatTheServerHasLostIsMadeOnceMore) {
  server_.Before(OP_COMMIT, [&] { server_.LoseUncommitted(); });
  EXPECT_EQ(CopyThree().error, kOk);
  EXPECT_EQ(target(), "789defghij");
  EXPECT_TRUE(is_committed());
  EXPECT_EQ(server_.calls(kOpCopy), 2);
}

TEST_F(CopyTest, AServerThatLosesEachCopyIsNotAskedForEver) {
  server_.Inject(OP_COMMIT,
                 {.kind = Kind::kForged,
                  .forge = [](const std::string& good) { return good.substr(0, 8) + "other!!!"; }},
                 1000);
  EXPECT_EQ(CopyThree().error, std::errc::io_error);
}

TEST_F(CopyTest, AFailureIsTheServers) {
  for (const int status : {NFS4ERR_NOSPC, NFS4ERR_DQUOT, NFS4ERR_FBIG, NFS4ERR_IO, NFS4ERR_INVAL}) {
    server_.Inject(kOpCopy, {.status = status});
    const FileChangeReply reply = CopyThree();
    EXPECT_NE(reply.error, kOk) << status;
    EXPECT_NE(reply.error, kNotSupported) << status;
  }
  for (const int status : {NFS4ERR_IO, NFS4ERR_NOSPC, NFS4ERR_DQUOT}) {
    server_.Inject(OP_COMMIT, {.status = status});
    EXPECT_EQ(CopyThree().error, std::errc::io_error) << "the file has changed: " << status;
  }
  EXPECT_EQ(CopyThree().error, kOk);
}

// WIRE-42. Only one of the two is opened anew: the other would lose its locks.
TEST_F(CopyTest, TheStateThatIsLostIsRecoveredAlone) {
  for (const char* const lost : {"from", "to"}) {
    SCOPED_TRACE(lost);
    const int opens = server_.calls(OP_OPEN);
    server_.ForgetOpens(lost);
    EXPECT_EQ(CopyThree().error, kOk);
    EXPECT_EQ(server_.calls(OP_OPEN), opens + 1);
    server_.Revoke(lost, true, NFS4ERR_EXPIRED);
    EXPECT_EQ(CopyThree().error, kOk);
  }
  server_.ForgetOpens("from");
  server_.ForgetOpens("to");
  EXPECT_EQ(CopyThree().error, kOk);
  server_.Restart(false);
  EXPECT_EQ(CopyThree().error, kOk);
  EXPECT_EQ(target(), "789defghij");
}

// It says that one is unknown, and knows both.
TEST_F(CopyTest, AServerThatKnowsBothIsAskedAgainUpToALimit) {
  const int opens = server_.calls(OP_OPEN);
  server_.Inject(kOpCopy, {.status = NFS4ERR_BAD_STATEID}, 2);
  EXPECT_EQ(CopyThree().error, kOk);
  server_.Inject(kOpCopy, {.status = NFS4ERR_BAD_STATEID}, 1000);
  EXPECT_EQ(CopyThree().error, kNotSupported);
  EXPECT_EQ(server_.calls(OP_OPEN), opens);
}

// A handle of the source that is stale says nothing of the target.
TEST_F(CopyTest, AStaleHandleIsThatOfItsFile) {
  server_.Erase("to");
  EXPECT_EQ(CopyThree().error, kStale);
  server_.Erase("from");
  EXPECT_EQ(CopyThree().error, kNotSupported);
  EXPECT_TRUE(nfs_->can_copy());
}

TEST_F(CopyTest, OneWhoseReplyIsLostIsMadeOnce) {
  server_.Inject(kOpCopy, {.kind = Kind::kLoseReply});
  EXPECT_EQ(CopyThree().error, kOk);
  EXPECT_EQ(server_.calls(kOpCopy), 1);
}

TEST_F(CopyTest, OneThatIsDelayedIsMadeLater) {
  server_.Inject(kOpCopy, {.status = NFS4ERR_DELAY}, 2);
  EXPECT_EQ(CopyThree().error, kOk);
}

struct Refusal {
  const char* name;
  int status;
  bool is_for_good;
};
class RefusedCopy : public CopyTest, public testing::WithParamInterface<Refusal> {};

TEST_P(RefusedCopy, IsNotSupported) {
  server_.Inject(kOpCopy, {.status = GetParam().status});
  EXPECT_TRUE(nfs_->can_copy());
  EXPECT_EQ(CopyThree().error, kNotSupported);
  EXPECT_EQ(nfs_->can_copy(), !GetParam().is_for_good);
  EXPECT_EQ(CopyThree().error, GetParam().is_for_good ? kNotSupported : kOk);
  EXPECT_EQ(server_.calls(kOpCopy), GetParam().is_for_good ? 1 : 2);
}

INSTANTIATE_TEST_SUITE_P(All, RefusedCopy,
                         testing::Values(Refusal{"Notsupp", NFS4ERR_NOTSUPP, true},
                                         Refusal{"OpIllegal", NFS4ERR_OP_ILLEGAL, true},
                                         Refusal{"OffloadNoReqs", 10094, true},
                                         Refusal{"OffloadDenied", 10091, false},
                                         Refusal{"Xdev", NFS4ERR_XDEV, false},
                                         Refusal{"Stale", NFS4ERR_STALE, false}),
                         [](const auto& info) { return info.param.name; });

// Words of a result behind operation and status: callback ids, count, stability, verifier, ...
class ForgedCopy : public CopyTest {
 protected:
  std::errc CopyAnsweredBy(const Xdr& body) {
    server_.Inject(kOpCopy,
                   {.kind = Kind::kForged, .forge = [bytes = body.str()](const auto& good) {
                      return good.substr(0, 8) + bytes;
                    }});
    return CopyThree().error;
  }
  static Xdr Result(uint64_t count, uint32_t stability) {
    return Xdr().U32(0).U64(count).U32(stability).U64(0).U32(1, 1);
  }
};

TEST_F(ForgedCopy, AResultThatMakesNoSenseIsAnError) {
  EXPECT_EQ(CopyAnsweredBy(Result(3, FILE_SYNC4)), kOk);
  EXPECT_EQ(CopyAnsweredBy(Result(0, FILE_SYNC4)), kOk) << "of a source that was cut";
  EXPECT_EQ(CopyAnsweredBy(Result(4, FILE_SYNC4)), std::errc::io_error);
  EXPECT_EQ(CopyAnsweredBy(Result(UINT64_MAX, FILE_SYNC4)), std::errc::io_error);
  EXPECT_EQ(CopyAnsweredBy(Result(3, 3)), std::errc::io_error);
  EXPECT_EQ(CopyAnsweredBy(Xdr()), std::errc::io_error);
  EXPECT_EQ(CopyAnsweredBy(Xdr().U32(0).U64(3)), std::errc::io_error);
  // It would be made behind the reply, and a callback would tell that it is.
  EXPECT_EQ(CopyAnsweredBy(Xdr().U32(1).Raw(std::string(16, 'c')).U64(0).U32(0).U64(0).U32(1, 0)),
            std::errc::io_error);
  EXPECT_EQ(CopyAnsweredBy(Xdr().U32(UINT32_MAX)), std::errc::io_error);
}

class CopyBeforeVersion4Point2 : public CopyTest {
 protected:
  CopyBeforeVersion4Point2() : CopyTest(1) {}
};

TEST_F(CopyBeforeVersion4Point2, IsNotAskedFor) {
  EXPECT_FALSE(nfs_->can_copy());
  EXPECT_EQ(CopyThree().error, kNotSupported);
  EXPECT_EQ(server_.calls(kOpCopy), 0);
}

}  // namespace
}  // namespace nfswalk::protocol
