// WRITEs that the server executes late or in another order, beside what the client does meanwhile.

#include <gtest/gtest.h>

#include <chrono>
#include <cstddef>
#include <string>
#include <thread>

#include "nfsclient/client.h"
#include "nfsclient/superblock/superblock.h"
#include "rcu/sync_point.h"
#include "tests/fixtures/client_internals.h"
#include "tests/fixtures/fake_mount.h"
#include "tests/fixtures/file_data.h"

namespace nfswalk {
namespace {

using fixtures::BytesOf;
using fixtures::Difference;
using fixtures::Pattern;
using fixtures::ReadPart;
using fixtures::WriteInSteps;
using protocol::FakeClock;
using protocol::FakeFault;
using protocol::kForEver;

// Long enough for a call that need not wait for the server; others end with it.
constexpr std::chrono::milliseconds kPatience{300};

class WriteOrder : public FakeMount {
 protected:
  WriteOrder() { options_.wsize = options_.rsize = kPiece; }

  // Writes a piece, whose WRITE the server holds, and gives its Sync() up.
  void WriteAndGiveUp(const std::string& text) {
    server_.Inject(op_.write, {.kind = FakeFault::Kind::kHold});
    const int before = calls(op_.write);
    ASSERT_EQ(file_->PWrite(BytesOf(text), 0), text.size());
    server_.AwaitCalls(op_.write, before + 1);
    const Deadline passed(std::chrono::steady_clock::now());
    ASSERT_EQ(file_->Sync(), std::errc::timed_out);
  }
};
INSTANTIATE_TEST_SUITE_P(Versions, WriteOrder, testing::Values(3, 4));

// A WRITE whose caller was interrupted may still be executed, after a later one.
TEST_P(WriteOrder, SyncedDataStaysAfterAnInterruptedWrite) {
  Mount();
  const std::string first = Pattern(kPiece, 1), second = Pattern(kPiece, 2);
  WriteAndGiveUp(first);
  bool written = false, synced = false;
  {
    const Deadline deadline(std::chrono::steady_clock::now() + kPatience);
    written = file_->PWrite(BytesOf(second), 0) == second.size();
    synced = written && file_->Sync() == kOk;
  }
  server_.ExecuteHeld();
  if (!written) {
    ASSERT_EQ(file_->PWrite(BytesOf(second), 0), second.size());
  }
  if (!synced) {
    ASSERT_EQ(file_->Sync(), kOk);
  }
  EXPECT_EQ(Difference(server_.Find("f")->data, second), "");
  EXPECT_EQ(Difference(Stable(), second), "");
}

// Writers over the limit that all write back each other's files keep the server idle.
TEST_P(WriteOrder, AWriterOverTheLimitDoesNotWaitForAnotherFile) {
  options_.dirty_bytes_max = 4 * kPiece;
  Mount();
  server_.Put("other", {.mode = 0666});
  const auto other = std::move(*client_->Open("other", kMayRead | kMayWrite, kUser));
  // Its file is the older one, which the table of dirty files shows last.
  ASSERT_EQ(file_->PWrite(Data(0, 1), 0), 1u);
  server_.Inject(op_.write, {.kind = FakeFault::Kind::kHold});
  const int before = calls(op_.write);
  ASSERT_EQ(other->PWrite(Data(0, kPiece), 0), kPiece);
  server_.AwaitCalls(op_.write, before + 1);
  {
    const Deadline deadline(std::chrono::steady_clock::now() + std::chrono::seconds(20));
    for (size_t piece = 0; piece < 16; ++piece) {
      ASSERT_EQ(file_->PWrite(Data(piece * kPiece, kPiece), piece * kPiece), kPiece) << piece;
    }
  }
  server_.ExecuteHeld();
  EXPECT_EQ(other->Sync(), kOk);
  EXPECT_EQ(file_->Sync(), kOk);
  EXPECT_EQ(Difference(Stable(), Text(0, 16 * kPiece)), "");
  EXPECT_EQ(Difference(server_.Find("other")->data, Text(0, kPiece)), "");
}

TEST_P(WriteOrder, ATruncationStaysAfterAnInterruptedWrite) {
  Mount();
  WriteAndGiveUp(Pattern(kPiece, 1));
  bool truncated = false;
  {
    const Deadline deadline(std::chrono::steady_clock::now() + kPatience);
    truncated = file_->SetAttributesOf({.size_bytes = 0}).has_value();
  }
  server_.ExecuteHeld();
  if (!truncated) {
    ASSERT_TRUE(file_->SetAttributesOf({.size_bytes = 0}));
  }
  ASSERT_EQ(file_->PWrite(BytesOf("anew"), 0), 4u);
  EXPECT_EQ(file_->Sync(), kOk);
  EXPECT_EQ(Difference(ReadPart(*file_, 0, 2 * kPiece), "anew"), "");
  EXPECT_EQ(Difference(server_.Find("f")->data, "anew"), "");
  EXPECT_EQ(Difference(Stable(), "anew"), "");
}

// WIRE-31. The server executes the truncation late.
TEST_P(WriteOrder, AWriteFollowsATruncationThatWasGivenUp) {
  Mount(Pattern(2 * kPiece));
  server_.Inject(op_.setattr, {.kind = FakeFault::Kind::kHold});
  const auto with_little_time = [](const auto& call) {
    const Deadline deadline(std::chrono::steady_clock::now() + kPatience);
    return call();
  };
  EXPECT_EQ(with_little_time([&] { return file_->SetAttributesOf({.size_bytes = 0}); }).error(),
            std::errc::timed_out);
  EXPECT_EQ(with_little_time([&] { return file_->PWrite(BytesOf("anew"), 0); }).error(),
            std::errc::timed_out);
  EXPECT_EQ(with_little_time([&] { return file_->Sync(); }), std::errc::timed_out);
  server_.ExecuteHeld();
  ASSERT_EQ(file_->PWrite(BytesOf("anew"), 0), 4u);
  EXPECT_EQ(file_->Sync(), kOk);
  EXPECT_EQ(StatSize(), 4u);
  EXPECT_EQ(Difference(ReadPart(*file_, 0, 2 * kPiece), "anew"), "");
  EXPECT_EQ(Difference(Stable(), "anew"), "");
}

// WIRE-31. ftruncate(2) by one thread, and a write by another one before its reply: the client shows what
// the server has.
TEST_P(WriteOrder, AWriteBesideATruncationIsBeforeOrAfterIt) {
  Mount();
  const std::string text = Pattern(kPiece);
  ASSERT_EQ(file_->PWrite(BytesOf("before"), 0), 6u);
  ASSERT_EQ(file_->Sync(), kOk);
  server_.Inject(op_.setattr, {.kind = FakeFault::Kind::kHold});
  const int writes = calls(op_.write);
  {
    std::jthread truncate([&] { EXPECT_TRUE(file_->SetAttributesOf({.size_bytes = 0})); });
    server_.AwaitCalls(op_.setattr, 1);
    const Deadline deadline(std::chrono::steady_clock::now() + kPatience);
    // Sent at once, unless it waits for the truncation.
    if (file_->PWrite(BytesOf(text), 0) == text.size()) {
      server_.AwaitCalls(op_.write, writes + 1);
    }
    server_.ExecuteHeld();
  }
  const std::string shown = ReadPart(*file_, 0, 2 * kPiece);
  EXPECT_EQ(file_->Sync(), kOk);
  EXPECT_EQ(Difference(shown, Stable()), "");
  EXPECT_EQ(Difference(ReadPart(*file_, 0, 2 * kPiece), Stable()), "");
  EXPECT_EQ(StatSize(), Stable().size());
}

// ATTR-19.
TEST_P(WriteOrder, TheSizeIsTheLargestWhateverTheOrderOfTheWrites) {
  constexpr size_t kPieces = 12;
  for (const FakeClock clock : {FakeClock::kFine, FakeClock::kStopped, FakeClock::kBackwards}) {
    for (const bool latest_first : {false, true}) {
      SCOPED_TRACE(static_cast<int>(clock) * 10 + (latest_first ? 1 : 0));
      server_.set_clock(clock);
      MountAnew();
      const int before = calls(op_.write);
      server_.Inject(op_.write, {.kind = FakeFault::Kind::kHold}, kPieces);
      const std::string text = Pattern(kPieces * kPiece);
      WriteInSteps(*file_, text, 0, kPiece);
      server_.AwaitCalls(op_.write, before + static_cast<int>(kPieces));
      EXPECT_EQ(file_->attributes().size_bytes, text.size());
      if (latest_first) server_.ReverseHeld();
      server_.ExecuteHeld();
      EXPECT_EQ(StatSize(), text.size());
      EXPECT_EQ(file_->attributes().size_bytes, text.size());
      EXPECT_EQ(Difference(ReadPart(*file_, 0, text.size() + 1), text), "");
      EXPECT_EQ(file_->Sync(), kOk);
      EXPECT_EQ(Difference(Stable(), text), "");
    }
  }
}

// The reply of a WRITE waits in the client while newer attributes come.
TEST_P(WriteOrder, AReplyThatWaitedDoesNotRollBackWhatAnotherClientMade) {
  for (const FakeClock clock : {FakeClock::kFine, FakeClock::kStopped, FakeClock::kBackwards}) {
    SCOPED_TRACE(static_cast<int>(clock));
    server_.set_clock(clock);
    MountAnew();
    const int before = calls(op_.write);
    ASSERT_EQ(file_->PWrite(BytesOf(Pattern(kPiece)), 0), kPiece);
    server_.AwaitCalls(op_.write, before + 1);
    server_.Truncate("f", kPiece + 100);
    const auto reader = Open(kMayRead);
    const std::string appended(100, '\0');
    EXPECT_EQ(Difference(ReadPart(*reader, kPiece, 1000), appended), "");
    EXPECT_EQ(StatSize(), kPiece + 100);
    EXPECT_EQ(Difference(ReadPart(*reader, kPiece, 1000), appended), "");
    EXPECT_EQ(file_->Close(), kOk);
  }
}

// A piece that is asked for between a write and its WRITE has the old bytes. Times need not tell.
TEST_P(WriteOrder, ReadAheadBesideAWriteIsNotShownAfterItsSync) {
  constexpr size_t kPieces = 8, kWritten = 1;  // behind the first read, and read ahead
  // A whole piece is committed; a part of one is a stable WRITE of the sync, without a COMMIT.
  for (const size_t bytes : {kPiece, kPiece / 2}) {
    for (const FakeClock clock : {FakeClock::kFine, FakeClock::kCoarse, FakeClock::kStopped}) {
      SCOPED_TRACE(std::to_string(bytes) + ", " + std::to_string(static_cast<int>(clock)));
      server_.set_clock(clock);
      const std::string old = Pattern(kPieces * kPiece), anew = Pattern(bytes, 1);
      MountAnew(old);
      const auto reader = Open(kMayRead);
      const int writes = calls(op_.write);
      server_.Inject(op_.write, {.kind = FakeFault::Kind::kHold});
      std::jthread sync;
      rcu::SyncPointScript::OnReach("file:read-ahead-taken", [&] {
        rcu::SyncPointScript::ClearAll();
        EXPECT_EQ(file_->PWrite(BytesOf(anew), kWritten * kPiece), bytes);
        sync = std::jthread([&] { EXPECT_EQ(file_->Sync(), kOk); });
        server_.AwaitCalls(op_.write, writes + 1);
      });
      EXPECT_EQ(Difference(ReadPart(*reader, 0, kPiece), old.substr(0, kPiece)), "");
      EXPECT_EQ(calls(op_.write), writes + 1);
      server_.ExecuteHeld();
      sync.join();
      std::string expected = old;
      expected.replace(kWritten * kPiece, bytes, anew);
      for (size_t piece = 1; piece < kPieces; ++piece) {
        EXPECT_EQ(Difference(ReadPart(*reader, piece * kPiece, kPiece),
                             expected.substr(piece * kPiece, kPiece)),
                  "")
            << "piece " << piece;
      }
    }
  }
}

// The last close could not wait for the server.
TEST_P(WriteOrder, DataLeftByAnInterruptedCloseIsWritten) {
  Mount();
  server_.Inject(op_.write, {.kind = FakeFault::Kind::kHold});
  const std::string text = Pattern(kPiece + 10);
  ASSERT_EQ(file_->PWrite(BytesOf(text), 0), text.size());
  server_.AwaitCalls(op_.write, 1);
  {
    const Deadline passed(std::chrono::steady_clock::now());
    EXPECT_EQ(file_->Close(), std::errc::timed_out);
  }
  server_.ExecuteHeld();
  file_ = nullptr;
  nfs::Superblock& superblock = ClientInternals::SuperblockOf(*client_);
  superblock.background.Wait();
  EXPECT_EQ(Difference(Stable(), text), "");
  EXPECT_TRUE(superblock.dirty_files.All().empty());
}

TEST_P(WriteOrder, AnErrorThatNoCloseCouldTellIsToldToTheNextOpener) {
  Mount();
  server_.Inject(op_.write, {.status = op_.no_space}, kForEver);
  ASSERT_EQ(file_->PWrite(BytesOf("text"), 0), 4u);
  {
    const Deadline passed(std::chrono::steady_clock::now());
    EXPECT_EQ(file_->Close(), std::errc::timed_out);
  }
  file_ = nullptr;
  ClientInternals::SuperblockOf(*client_).background.Wait();
  server_.ClearFaults();
  file_ = Open();
  const auto second = Open();
  EXPECT_EQ(file_->Sync(), std::errc::no_space_on_device);
  EXPECT_EQ(file_->Sync(), kOk);
  EXPECT_EQ(second->Sync(), std::errc::no_space_on_device);
  EXPECT_EQ(Open()->Sync(), kOk);
  EXPECT_EQ(StatSize(), 0u);
}

// errseq_sample() at open: it has seen no error yet.
TEST_P(WriteOrder, AFileThatWasOpenBeforeAnErrorIsToldThoughItNeverWrote) {
  for (const int operation : {op_.write, op_.commit}) {
    SCOPED_TRACE(operation);
    MountAnew();
    const auto idle = Open(), reader = Open(kMayRead), closed = Open();
    server_.Inject(operation, {.status = op_.no_space}, kForEver);
    EXPECT_EQ(file_->PWrite(Data(0, 3 * kPiece), 0), 3 * kPiece);
    EXPECT_EQ(file_->Sync(), std::errc::no_space_on_device);
    server_.ClearFaults();
    EXPECT_EQ(idle->Sync(), std::errc::no_space_on_device);
    EXPECT_EQ(idle->Sync(), kOk);
    EXPECT_EQ(reader->Sync(), std::errc::no_space_on_device);
    EXPECT_EQ(closed->Close(), std::errc::no_space_on_device);
    EXPECT_EQ(file_->Sync(), kOk);
    EXPECT_EQ(Open()->Sync(), kOk);
  }
}

}  // namespace
}  // namespace nfswalk
