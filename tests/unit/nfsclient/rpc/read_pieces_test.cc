#include "nfsclient/rpc/read_pieces.h"

#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "nfsclient/nfs4/nfs4.h"
#include "tests/fixtures/fake_nfs3_mount.h"
#include "tests/fixtures/fake_nfs4.h"
#include "tests/fixtures/libnfs_raw.h"

namespace nfswalk::protocol {
namespace {

constexpr size_t kPiece = 1000;

struct Operations {
  int read, write, setattr, jukebox, no_permission;
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
    for (size_t i = 0; i < data_.size(); ++i) data_[i] = std::byte(i * 7 + i / 251);
    Put(data_.size());
    Resolve();
  }
  void Resolve() {
    const FileHandle root =
        GetParam() == 3 ? HandleFrom(FakeNfs3::root_handle()) : nfs_->GetRoot(kUser).handle;
    file_ = nfs_->Lookup(root, "f", kUser).handle;
  }
  void Put(size_t bytes) { server_.Put("f", {.mode = 0666, .data = Text(bytes)}); }
  ReadReply Read(std::span<std::byte> into, uint64_t offset_bytes = 0) {
    return nfs_->ReadPieces(file_, offset_bytes, into, kPiece, nullptr, kUser);
  }
  std::string Text(size_t bytes) const {
    return {reinterpret_cast<const char*>(data_.data()), bytes};
  }
  int calls(int operation) { return server_.calls(operation); }
  WriteInFlight StartWrite() {
    return nfs_->StartWrite(file_, 0, std::span(data_).last(kPiece), Stability::kFileSync, nullptr,
                            kUser);
  }
  // Waits no time for what is in flight.
  template <typename Started>
  static bool HasEnded(Started& started) {
    const Deadline passed(std::chrono::steady_clock::now());
    return started->Finish().has_value();
  }

  const Operations op_ =
      GetParam() == 3
          ? Operations{NFS3_READ, NFS3_WRITE, NFS3_SETATTR, NFS3ERR_JUKEBOX, NFS3ERR_ACCES}
          : Operations{OP_READ, OP_WRITE, OP_SETATTR, NFS4ERR_DELAY, NFS4ERR_ACCESS};
  FakeNfs3 nfs3_;
  FakeNfs4 nfs4_;
  FakeTreeServer& server_ = GetParam() == 3 ? static_cast<FakeTreeServer&>(nfs3_) : nfs4_;
  std::unique_ptr<Protocol> nfs_;
  FileHandle file_;
  std::vector<std::byte> data_ = std::vector<std::byte>(40 * kPiece);
};
INSTANTIATE_TEST_SUITE_P(Versions, Transfer, testing::Values(3, 4));

TEST_P(Transfer, OnePieceIsOneCall) {
  Put(kPiece);
  Resolve();
  std::vector<std::byte> into(kPiece);
  EXPECT_EQ(Read(into).count_bytes, kPiece);
  EXPECT_EQ(calls(op_.read), 1);
}

TEST_P(Transfer, PiecesAreReadUntilTheEnd) {
  for (const size_t size : {size_t{0}, size_t{1}, kPiece, kPiece + 1, 33 * kPiece + 5}) {
    Put(size);
    Resolve();
    for (const size_t offset : {size_t{0}, size_t{1}, size_t{700}}) {
      SCOPED_TRACE(std::to_string(size) + " from " + std::to_string(offset));
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

TEST_P(Transfer, APieceThatIsRefusedForTheMomentIsAskedForAgain) {
  server_.Inject(op_.read, {.status = op_.jukebox}, 1, 2);
  std::vector<std::byte> into(5 * kPiece);
  EXPECT_EQ(Read(into).count_bytes, 5 * kPiece);
  EXPECT_EQ(into, std::vector(data_.begin(), data_.begin() + 5 * kPiece));
}

TEST_P(Transfer, AReadEndsInTheErrorOfAnyOfItsPieces) {
  server_.Inject(op_.read, {.status = op_.no_permission}, kForEver, 3);
  std::vector<std::byte> into(5 * kPiece);
  EXPECT_EQ(Read(into).error, std::errc::permission_denied);
}

TEST_P(Transfer, ALostConnectionIsSurvived) {
  for (const int after : {0, 7, 15, 19}) {
    server_.Inject(op_.read, {.kind = FakeFault::Kind::kLoseCall}, 1, after);
    std::vector<std::byte> into(20 * kPiece);
    EXPECT_EQ(Read(into).count_bytes, 20 * kPiece);
    EXPECT_EQ(into, std::vector(data_.begin(), data_.begin() + 20 * kPiece));
  }
}

// WIRE-30.
TEST_P(Transfer, AWriteOutlivesTheWaitsForIt) {
  server_.Inject(op_.write, {.kind = FakeFault::Kind::kHold});
  const auto started = StartWrite();
  EXPECT_FALSE(HasEnded(started));
  server_.AwaitCalls(op_.write, 1);
  EXPECT_FALSE(HasEnded(started));
  std::optional<UnstableWriteReply> reply;
  std::jthread other([&] { reply = started->Finish(); });
  server_.ExecuteHeld();
  other.join();
  ASSERT_TRUE(reply);
  EXPECT_EQ(reply->error, kOk);
  EXPECT_EQ(reply->count_bytes, kPiece);
  EXPECT_EQ(calls(op_.write), 2) << "held, and executed";
}

// WIRE-30.
TEST_P(Transfer, ASetAttributesOutlivesTheWaitsForIt) {
  server_.Inject(op_.setattr, {.kind = FakeFault::Kind::kHold});
  const auto started = nfs_->StartSetAttributes(file_, {.size_bytes = 10}, kUser);
  EXPECT_FALSE(HasEnded(started));
  server_.AwaitCalls(op_.setattr, 1);
  EXPECT_FALSE(HasEnded(started));
  EXPECT_EQ(server_.Find("f")->data.size(), data_.size());
  server_.ExecuteHeld();
  EXPECT_EQ(started->Finish()->error, kOk);
  EXPECT_EQ(server_.Find("f")->data.size(), 10u);
  EXPECT_EQ(calls(op_.setattr), 2) << "held, and executed";
}

TEST_P(Transfer, ASetAttributesEndsInItsError) {
  server_.Inject(op_.setattr, {.status = op_.no_permission});
  const auto started = nfs_->StartSetAttributes(file_, {.size_bytes = 10}, kUser);
  EXPECT_EQ(started->Finish()->error, std::errc::permission_denied);
}

// WIRE-30.
TEST_P(Transfer, AnInterruptedPauseIsGoneOnWith) {
  server_.Inject(op_.write, {.status = op_.jukebox});
  const auto started = StartWrite();
  {
    const Deadline soon(std::chrono::steady_clock::now() + std::chrono::milliseconds{50});
    EXPECT_FALSE(started->Finish());
  }
  EXPECT_FALSE(HasEnded(started));
  EXPECT_EQ(started->Finish()->error, kOk);
  EXPECT_EQ(calls(op_.write), 2);
}

// WIRE-30: sent again, with its xid.
TEST_P(Transfer, AWriteLostBetweenTwoWaitsIsSentAgain) {
  server_.Inject(op_.write, {.kind = FakeFault::Kind::kLoseCall});
  const auto started = StartWrite();
  while (calls(op_.write) < 1) EXPECT_FALSE(HasEnded(started));
  EXPECT_EQ(started->Finish()->error, kOk);
  EXPECT_EQ(calls(op_.write), 2);
}

// Its memory is not written to any more.
TEST_P(Transfer, AReadThatIsDestroyedInFlightIsWithdrawn) {
  server_.Inject(op_.read, {.kind = FakeFault::Kind::kHold});
  {
    std::vector<std::byte> into(kPiece);
    auto started = nfs_->StartRead(file_, 0, into, nullptr, kUser);
    EXPECT_FALSE(HasEnded(started));
    server_.AwaitCalls(op_.read, 1);
    const Deadline passed(std::chrono::steady_clock::now());
    started = nullptr;
  }
  server_.ExecuteHeld();
  std::vector<std::byte> into(kPiece);
  EXPECT_EQ(Read(into).count_bytes, kPiece);
}

// Without a deadline its destructor waits for the reply.
TEST_P(Transfer, AWriteThatIsDestroyedInFlightIsWaitedFor) {
  auto started = StartWrite();
  EXPECT_FALSE(HasEnded(started));
  started = nullptr;
  EXPECT_EQ(server_.Find("f")->data.substr(0, kPiece), Text(data_.size()).substr(39 * kPiece));
}

}  // namespace
}  // namespace nfswalk::protocol
