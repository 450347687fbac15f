#include "nfsclient/rpc/transfer.h"

#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "nfsclient/nfs4/nfs4.h"
#include "tests/fixtures/fake_nfs3_mount.h"
#include "tests/fixtures/fake_nfs4.h"
#include "tests/fixtures/libnfs_raw.h"

namespace nfswalk::protocol {
namespace {

constexpr size_t kPiece = 1000;
constexpr int kForEver = 1'000'000;

struct Operations {
  int read, write, commit;
  int no_space, jukebox, no_permission;
};

// Versions 3 and 4 alike.
class Transfer : public testing::TestWithParam<int> {
 protected:
  Transfer() {
    if (GetParam() == 3) {
      nfs_ = Mount3(nfs3_.port());
    } else {
      nfs_ = std::move(*Nfs4::ConnectNfs4({"127.0.0.1", "/", nfs4_.port(), 0, 4}, {}));
    }
    server_.Put("f", {.mode = 0666});
    const FileHandle root =
        GetParam() == 3 ? HandleFrom(FakeNfs3::root_handle()) : nfs_->GetRoot(kUser).handle;
    file_ = nfs_->Lookup(root, "f", kUser).handle;
    for (size_t i = 0; i < data_.size(); ++i) data_[i] = std::byte(i * 7 + i / 251);
  }
  WriteReply Write(size_t bytes) {
    return nfs_->WritePieces(file_, 0, std::span(data_).first(bytes), kPiece, nullptr, kUser);
  }
  ReadReply Read(std::span<std::byte> into, uint64_t offset_bytes = 0) {
    return nfs_->ReadPieces(file_, offset_bytes, into, kPiece, nullptr, kUser);
  }
  std::string Text(size_t bytes) const {
    return {reinterpret_cast<const char*>(data_.data()), bytes};
  }
  // What is left of the file after a restart.
  std::string Stable() {
    server_.LoseUncommitted();
    return server_.Find("f")->data;
  }
  int calls(int operation) { return server_.calls(operation); }

  const Operations op_ = GetParam() == 3 ? Operations{NFS3_READ,     NFS3_WRITE,      NFS3_COMMIT,
                                                      NFS3ERR_NOSPC, NFS3ERR_JUKEBOX, NFS3ERR_ACCES}
                                         : Operations{OP_READ,       OP_WRITE,      OP_COMMIT,
                                                      NFS4ERR_NOSPC, NFS4ERR_DELAY, NFS4ERR_ACCESS};
  FakeNfs3 nfs3_;
  FakeNfs4 nfs4_;
  FakeTreeServer& server_ = GetParam() == 3 ? static_cast<FakeTreeServer&>(nfs3_) : nfs4_;
  std::unique_ptr<Protocol> nfs_;
  FileHandle file_;
  std::vector<std::byte> data_ = std::vector<std::byte>(40 * kPiece);
};
INSTANTIATE_TEST_SUITE_P(Versions, Transfer, testing::Values(3, 4));

TEST_P(Transfer, OnePieceIsOneCall) {
  for (const size_t bytes : {size_t{1}, kPiece}) {
    EXPECT_EQ(Write(bytes).count_bytes, bytes);
    EXPECT_EQ(Stable(), Text(std::max<size_t>(bytes, 1)));
  }
  EXPECT_EQ(calls(op_.write), 2);
  EXPECT_EQ(calls(op_.commit), 0);
  std::vector<std::byte> into(kPiece);
  EXPECT_EQ(Read(into).count_bytes, kPiece);
  EXPECT_EQ(calls(op_.read), 1);
}

TEST_P(Transfer, PiecesAreWrittenUnstableAndCommittedOnce) {
  for (const size_t bytes : {kPiece + 1, 16 * kPiece, 17 * kPiece, 40 * kPiece - 1}) {
    const int writes = calls(op_.write), commits = calls(op_.commit);
    const WriteReply reply = Write(bytes);
    EXPECT_EQ(reply.error, kOk);
    EXPECT_EQ(reply.count_bytes, bytes);
    EXPECT_TRUE(reply.file.after.has_value());
    EXPECT_EQ(Stable().substr(0, bytes), Text(bytes));
    EXPECT_EQ(calls(op_.write) - writes, static_cast<int>((bytes + kPiece - 1) / kPiece));
    EXPECT_EQ(calls(op_.commit) - commits, 1);
  }
}

TEST_P(Transfer, PiecesAreReadUntilTheEnd) {
  server_.Put("f", {.mode = 0666});
  for (const size_t size : {size_t{0}, size_t{1}, kPiece, kPiece + 1, 33 * kPiece + 5}) {
    for (const size_t offset : {size_t{0}, size_t{1}, size_t{700}}) {
      SCOPED_TRACE(std::to_string(size) + " from " + std::to_string(offset));
      if (size > 0) {
        ASSERT_EQ(Write(size).count_bytes, size);
      }
      std::vector<std::byte> into(40 * kPiece);
      const ReadReply reply = Read(into, offset);
      EXPECT_EQ(reply.error, kOk);
      EXPECT_TRUE(reply.eof);
      const size_t left = size - std::min(offset, size);
      ASSERT_EQ(reply.count_bytes, left);
      EXPECT_EQ(std::string(reinterpret_cast<const char*>(into.data()), left),
                Text(size).substr(std::min(offset, size)));
    }
  }
}

// WIRE-20. A restart after each of the calls.
TEST_P(Transfer, WhatARestartLosesIsWrittenAgain) {
  constexpr int kPieces = 20;
  for (int restart_at = 0; restart_at <= kPieces; ++restart_at) {
    SCOPED_TRACE(restart_at);
    server_.Erase("f");
    server_.Put("f", {.mode = 0666});
    const FileHandle root =
        GetParam() == 3 ? HandleFrom(FakeNfs3::root_handle()) : nfs_->GetRoot(kUser).handle;
    file_ = nfs_->Lookup(root, "f", kUser).handle;
    int written = 0;
    std::function<void()> before_write = [&] {
      if (written++ == restart_at) server_.LoseUncommitted();
      if (written <= restart_at) server_.Before(op_.write, before_write);
    };
    if (restart_at < kPieces) {
      server_.Before(op_.write, before_write);
    } else {
      server_.Before(op_.commit, [&] { server_.LoseUncommitted(); });
    }
    EXPECT_EQ(Write(kPieces * kPiece).count_bytes, kPieces * kPiece);
    EXPECT_EQ(Stable(), Text(kPieces * kPiece));
  }
}

TEST_P(Transfer, ShortWritesAreContinued) {
  server_.set_write_bytes_max(300);
  EXPECT_EQ(Write(5 * kPiece).count_bytes, 5 * kPiece);
  EXPECT_EQ(Stable(), Text(5 * kPiece));
}

TEST_P(Transfer, WhatWasStoredBeforeAnErrorCounts) {
  server_.Inject(op_.write, {.status = op_.no_space}, kForEver, 3);
  const WriteReply reply = Write(20 * kPiece);
  EXPECT_EQ(reply.error, std::errc::no_space_on_device);
  EXPECT_EQ(reply.count_bytes, 3 * kPiece);
  EXPECT_EQ(Stable().substr(0, 3 * kPiece), Text(3 * kPiece));
}

TEST_P(Transfer, NothingCountsThatACommitRefuses) {
  server_.Inject(op_.commit, {.status = op_.no_space});
  const WriteReply reply = Write(3 * kPiece);
  EXPECT_EQ(reply.error, std::errc::no_space_on_device);
  EXPECT_EQ(reply.count_bytes, 0u);
}

TEST_P(Transfer, APieceThatIsRefusedForTheMomentIsAskedForAgain) {
  ASSERT_EQ(Write(5 * kPiece).error, kOk);
  for (const int operation : {op_.write, op_.read}) {
    server_.Inject(operation, {.status = op_.jukebox}, 1, 2);
  }
  EXPECT_EQ(Write(5 * kPiece).count_bytes, 5 * kPiece);
  std::vector<std::byte> into(5 * kPiece);
  EXPECT_EQ(Read(into).count_bytes, 5 * kPiece);
  EXPECT_EQ(into, std::vector(data_.begin(), data_.begin() + 5 * kPiece));
}

TEST_P(Transfer, AReadEndsInTheErrorOfAnyOfItsPieces) {
  ASSERT_EQ(Write(5 * kPiece).error, kOk);
  server_.Inject(op_.read, {.status = op_.no_permission}, kForEver, 3);
  std::vector<std::byte> into(5 * kPiece);
  EXPECT_EQ(Read(into).error, std::errc::permission_denied);
}

TEST_P(Transfer, ALostConnectionIsSurvived) {
  for (const int after : {0, 7, 15, 19}) {
    server_.Inject(op_.write, {.kind = FakeFault::Kind::kLoseReply}, 1, after);
    EXPECT_EQ(Write(20 * kPiece).count_bytes, 20 * kPiece);
    EXPECT_EQ(Stable(), Text(20 * kPiece));
    server_.Inject(op_.read, {.kind = FakeFault::Kind::kLoseCall}, 1, after);
    std::vector<std::byte> into(20 * kPiece);
    EXPECT_EQ(Read(into).count_bytes, 20 * kPiece);
    EXPECT_EQ(into, std::vector(data_.begin(), data_.begin() + 20 * kPiece));
  }
}

}  // namespace
}  // namespace nfswalk::protocol
