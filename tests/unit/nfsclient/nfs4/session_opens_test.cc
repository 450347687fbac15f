// Opens of version 4.1: by handle (CLAIM_FH), exclusive with attributes (EXCLUSIVE4_1), and anew.
#include <gtest/gtest.h>

#include <array>
#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

#include "nfsclient/client.h"
#include "nfsclient/nfs4/nfs4.h"
#include "nfsclient/nfs4/operation_names.h"
#include "tests/fixtures/fake_nfs4.h"
#include "tests/fixtures/libnfs_raw.h"

namespace nfswalk::protocol {
namespace {

using Kind = FakeFault::Kind;

const Credential kRoot(0, 0), kUser(1000, 100);

class SessionOpensTest : public testing::Test {
 protected:
  SessionOpensTest() {
    server_.Put("f", {.mode = 0640, .data = "mine"});
    nfs_ = std::move(*Nfs4::ConnectNfs4({"127.0.0.1", "/", server_.port(), 0, 4, 1}, {}));
    root_ = nfs_->GetRoot(kRoot).handle;
    file_ = nfs_->Lookup(root_, "f", kRoot).handle;
  }
  OpenReply OpenByHandle(const Credential& credential = kRoot) {
    return nfs_->Open({}, {}, file_, true, true, credential);
  }
  std::string Read(const OpenReply& opened) {
    std::array<std::byte, 16> into;
    const ReadReply read = nfs_->Read(file_, 0, into, opened.state.get(), kRoot);
    if (read.error != kOk) return std::make_error_code(read.error).message();
    return {reinterpret_cast<const char*>(into.data()), read.count_bytes};
  }
  // These two as another client does it.
  void Rename(const std::string& from, const std::string& to) {
    server_.Link(from, to);
    server_.Erase(from);
  }
  void PutOther() { server_.Put("f", {.mode = 0666, .data = "other"}); }
  CreateOpenReply CreateExclusively(const std::string& name) {
    return nfs_->CreateOpen(root_, name, CreateMode::kGuarded, {.mode = 0604}, true, true, kRoot);
  }

  FakeNfs4 server_;
  std::unique_ptr<Protocol> nfs_;
  FileHandle root_, file_;
};

TEST_F(SessionOpensTest, AFileIsOpenedByItsHandleInOneCall) {
  EXPECT_TRUE(nfs_->can_open_by_handle());
  const uint64_t before = nfs_->rpcs_sent();
  const OpenReply opened = OpenByHandle();
  EXPECT_EQ(opened.error, kOk);
  EXPECT_EQ(nfs_->rpcs_sent() - before, 1u);
  ASSERT_TRUE(opened.attributes.has_value());
  EXPECT_EQ(opened.attributes->size_bytes, 4u);
  EXPECT_TRUE(opened.granted.has_value());
  EXPECT_EQ(Read(opened), "mine");
}

TEST_F(SessionOpensTest, AFileIsOpenedByItsHandleWhateverHasItsName) {
  Rename("f", "g");
  PutOther();
  EXPECT_EQ(Read(OpenByHandle()), "mine");
  EXPECT_EQ(server_.opens(), 0u) << "closed";
}

TEST_F(SessionOpensTest, AnOpenByHandleFailsAsTheServerSays) {
  EXPECT_EQ(OpenByHandle(kUser).error, std::errc::permission_denied);
  server_.Erase("f");
  PutOther();
  EXPECT_EQ(OpenByHandle().error, kStale);
  for (const int status : {NFS4ERR_ISDIR, NFS4ERR_NOSPC, NFS4ERR_ROFS, NFS4ERR_SHARE_DENIED}) {
    server_.Inject(OP_OPEN, {.status = status});
    EXPECT_NE(OpenByHandle().error, kOk);
  }
  EXPECT_TRUE(nfs_->can_open_by_handle());
}

TEST_F(SessionOpensTest, AServerWithoutOpensByHandleIsAskedOnce) {
  server_.Inject(OP_OPEN, {.status = NFS4ERR_NOTSUPP});
  EXPECT_NE(OpenByHandle().error, kOk);
  EXPECT_FALSE(nfs_->can_open_by_handle());
  // By the name it is not the server's word on handles.
  EXPECT_EQ(nfs_->Open(root_, "f", file_, true, false, kRoot).error, kOk);
}

TEST_F(SessionOpensTest, ARefusalByNameSaysNothingOfHandles) {
  server_.Inject(OP_OPEN, {.status = NFS4ERR_INVAL});
  EXPECT_EQ(nfs_->Open(root_, "f", file_, true, false, kRoot).error, std::errc::invalid_argument);
  EXPECT_TRUE(nfs_->can_open_by_handle());
}

// Reopening: what was opened, however, and whatever has its name by now.
TEST_F(SessionOpensTest, AFileWhoseStateIsLostIsOpenedAnewByItsHandle) {
  for (const bool by_name : {false, true}) {
    const OpenReply opened =
        by_name ? nfs_->Open(root_, "f", file_, true, true, kRoot) : OpenByHandle();
    ASSERT_EQ(opened.error, kOk);
    Rename("f", "g");
    PutOther();
    server_.ForgetOpens("g");
    EXPECT_EQ(Read(opened), "mine");
    EXPECT_EQ(server_.opens(), 1u);
    server_.Erase("f");
    Rename("g", "f");
  }
}

TEST_F(SessionOpensTest, AFileWhoseClientIdIsLostIsOpenedAnewByItsHandle) {
  const OpenReply opened = OpenByHandle();
  Rename("f", "g");
  server_.Restart(false);
  EXPECT_EQ(Read(opened), "mine");
}

TEST_F(SessionOpensTest, AFileThatIsGoneIsLostWithItsState) {
  const OpenReply opened = OpenByHandle();
  server_.Erase("f");
  PutOther();
  server_.Restart(false);
  EXPECT_NE(Read(opened), "other");
}

TEST_F(SessionOpensTest, AFileIsOpenedAnewByNameWhereTheServerRefusesHandles) {
  const OpenReply opened = nfs_->Open(root_, "f", file_, true, true, kRoot);
  server_.ForgetOpens("f");
  server_.Inject(OP_OPEN, {.status = NFS4ERR_INVAL});
  EXPECT_EQ(Read(opened), "mine");
  EXPECT_FALSE(nfs_->can_open_by_handle());
}

TEST_F(SessionOpensTest, AnExclusiveOneSetsWhatTheServerHasNotSet) {
  const CreateOpenReply made = CreateExclusively("new");
  ASSERT_EQ(made.error, kOk);
  ASSERT_TRUE(made.attributes.has_value());
  EXPECT_EQ(made.attributes->mode & 07777, 0604u);
  EXPECT_EQ(server_.calls(OP_OPEN), 1);
  EXPECT_EQ(server_.calls(OP_SETATTR), 1) << "the times, which hold the verifier";
  EXPECT_EQ(CreateExclusively("new").error, std::errc::file_exists);
}

// Its verifier would stay in the times of the file.
TEST_F(SessionOpensTest, AnExclusiveOneWhoseHandleComesLateHasItsTimesSet) {
  server_.Inject(OP_GETFH, {.status = NFS4ERR_DELAY});
  EXPECT_EQ(CreateExclusively("new").error, kOk);
  EXPECT_EQ(server_.calls(OP_SETATTR), 1);
}

TEST_F(SessionOpensTest, AnExclusiveOneIsMadeWithoutAttributesThatTheServerRefuses) {
  server_.Inject(OP_OPEN, {.status = NFS4ERR_INVAL});
  EXPECT_EQ(CreateExclusively("new").error, kOk);
  EXPECT_EQ(server_.Find("new")->mode & 07777, 0604u);
}

// The verifier proves that it is this client's.
TEST_F(SessionOpensTest, AnExclusiveOneIsMadeOnceOverTheEndOfTheSession) {
  server_.Inject(OP_OPEN, {.kind = Kind::kLoseReply});
  server_.Before(OP_OPEN, [this] { server_.EndSessions(); });
  EXPECT_EQ(CreateExclusively("new").error, kOk);
  EXPECT_TRUE(server_.Find("new").has_value());
}

TEST_F(SessionOpensTest, AnExclusiveOneThatTheServerDoesNotHaveIsGuarded) {
  server_.Inject(OP_OPEN, {.status = NFS4ERR_NOTSUPP});
  EXPECT_EQ(CreateExclusively("new").error, kOk);
  EXPECT_EQ(server_.Find("new")->mode & 07777, 0604u);
  EXPECT_EQ(server_.calls(OP_SETATTR), 0);
  EXPECT_TRUE(nfs_->can_open_by_handle());
}

// By the caches: a node is the file, a path is the name.
class SessionNodesTest : public SessionOpensTest {
 protected:
  SessionNodesTest() {
    MountOptions options;
    options.acregmin_s = options.acregmax_s = options.acdirmin_s = options.acdirmax_s = 600;
    client_ = std::move(*Client::MountOver(std::move(nfs_), options));
    node_ = std::move(*client_->Resolve("f", kRoot));
  }
  static std::string ReadAll(const Result<std::unique_ptr<File>>& file) {
    if (!file) return std::make_error_code(file.error()).message();
    std::array<std::byte, 16> into;
    const auto count = (*file)->PRead(into, 0);
    return {reinterpret_cast<const char*>(into.data()), count.value_or(0)};
  }

  std::unique_ptr<Client> client_;
  std::unique_ptr<Node> node_;
};

TEST_F(SessionNodesTest, ANodeIsTheFileWhateverHasItsName) {
  Rename("f", "g");
  PutOther();
  EXPECT_EQ(ReadAll(node_->Open("", kMayRead, kRoot)), "mine");
  EXPECT_EQ(node_->Open("", kMayRead, kRoot, {.as_named = true}).error(), kStale);
  EXPECT_EQ(ReadAll(client_->Open("f", kMayRead, kRoot)), "other");
}

TEST_F(SessionNodesTest, AFileThatIsGoneIsStaleForGoodAndItsNameIsAskedFor) {
  server_.Erase("f");
  PutOther();
  EXPECT_EQ(node_->Open("", kMayRead, kRoot).error(), kStale);
  EXPECT_TRUE(node_->is_stale());
  EXPECT_EQ(ReadAll(client_->Open("f", kMayRead, kRoot)), "other");
  const int opens = server_.calls(OP_OPEN);
  EXPECT_EQ(node_->Open("", kMayRead, kRoot).error(), kStale);
  EXPECT_LE(server_.calls(OP_OPEN), opens + 2);
}

}  // namespace
}  // namespace nfswalk::protocol
