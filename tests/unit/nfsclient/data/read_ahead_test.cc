// Tests the readahead of a sequential reader, against servers of both versions that count READs,
// answer them in part, and change or lose the file between them.

#include "nfsclient/data/read_ahead.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <functional>
#include <latch>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "nfsclient/superblock/superblock.h"
#include "rcu/sync_point.h"
#include "tests/fixtures/client_internals.h"
#include "tests/fixtures/fake_mount.h"
#include "tests/fixtures/interleavings.h"

namespace nfswalk {
namespace {

constexpr size_t kPieces = 20;

// WIRE-24.
class ReadAhead : public FakeMount {
 protected:
  ReadAhead() { options_.rsize = options_.wsize = kPiece; }

  std::string whole() const { return Text(0, kPieces * kPiece); }
  // Reads on in pieces until the end, or an error.
  static std::string ReadOn(File& file, uint64_t from, size_t bytes, std::errc& error) {
    std::string text;
    for (;;) {
      const auto part = Read(file, from + text.size(), bytes);
      error = part ? kOk : part.error();
      if (!part || part->empty()) return text;
      text += *part;
    }
  }
  static std::string ReadOn(File& file, uint64_t from = 0, size_t bytes = kPiece) {
    std::errc error{};
    std::string text = ReadOn(file, from, bytes, error);
    EXPECT_EQ(error, kOk);
    return text;
  }
  // Reads `pieces` from the first, and waits until all of the file was asked for.
  void ReadSome(size_t pieces) {
    const int before = calls(op_.read);
    for (size_t i = 0; i < pieces; ++i) {
      ASSERT_EQ(Read(*file_, i * kPiece, kPiece), Text(i * kPiece, kPiece));
    }
    server_.AwaitCalls(op_.read, before + static_cast<int>(kPieces));
  }
  // Runs `change` before READ number `read`, counted from 0.
  void BeforeRead(size_t read, const std::function<void()>& change) {
    server_.Before(op_.read, [this, read, change] {
      if (read == 0) return change();
      BeforeRead(read - 1, change);
    });
  }
};
INSTANTIATE_TEST_SUITE_P(Versions, ReadAhead, testing::Values(3, 4));

TEST_P(ReadAhead, EachPieceIsAskedForOnce) {
  Mount(whole());
  ASSERT_EQ(Read(*file_, 0, kPiece), Text(0, kPiece));
  server_.AwaitCalls(op_.read, 3);  // a window of two pieces
  EXPECT_EQ(ReadOn(*file_, kPiece), Text(kPiece, (kPieces - 1) * kPiece));
  EXPECT_EQ(calls(op_.read), static_cast<int>(kPieces) + 1);  // and the end
}

// As a kernel that reads ahead itself sends them, through several threads.
TEST_P(ReadAhead, ReadsThatComeInAnotherOrderTakeEachPieceOnce) {
  Mount(whole());
  ASSERT_EQ(Read(*file_, 0, kPiece), Text(0, kPiece));
  for (size_t pair = 1; pair + 1 < kPieces; pair += 2) {
    for (const size_t piece : {pair + 1, pair}) {
      ASSERT_EQ(Read(*file_, piece * kPiece, kPiece), Text(piece * kPiece, kPiece)) << piece;
    }
  }
  ASSERT_EQ(ReadOn(*file_, (kPieces - 1) * kPiece), Text((kPieces - 1) * kPiece, kPiece));
  EXPECT_EQ(calls(op_.read), static_cast<int>(kPieces) + 1);  // and the end
}

TEST_P(ReadAhead, NothingMoreIsSentForAReaderThatIsNotSequential) {
  Mount(whole());
  for (size_t left = kPieces; left > 0; --left) {
    ASSERT_EQ(Read(*file_, (left - 1) * kPiece + 1, kPiece / 2),
              Text((left - 1) * kPiece + 1, kPiece / 2));
  }
  EXPECT_EQ(calls(op_.read), static_cast<int>(kPieces));
}

TEST_P(ReadAhead, NothingIsReadAheadWithoutAnAttributeCache) {
  options_.acregmin_s = options_.acregmax_s = 0;
  Mount(whole());
  EXPECT_EQ(ReadOn(*file_), whole());
  EXPECT_EQ(calls(op_.read), static_cast<int>(kPieces) + 1);
}

TEST_P(ReadAhead, AFileEndsWhereItEnds) {
  Mount();
  for (const size_t size : {size_t{0}, size_t{1}, kPiece - 1, kPiece, kPiece + 1, 2 * kPiece,
                            7 * kPiece - 1, 7 * kPiece, 7 * kPiece + 1}) {
    server_.Put("f", {.mode = 0666, .data = Text(0, size)});
    for (const size_t bytes :
         {kPiece / 3, kPiece - 1, kPiece, kPiece + 1, 3 * kPiece, 9 * kPiece}) {
      SCOPED_TRACE(std::to_string(size) + " by " + std::to_string(bytes));
      client_->DropCaches();
      file_ = Open(kMayRead);
      EXPECT_EQ(ReadOn(*file_, 0, bytes), Text(0, size));
      EXPECT_EQ(Read(*file_, size + 1, bytes), "");
    }
  }
}

TEST_P(ReadAhead, ShortReadsAreContinued) {
  Mount(whole());
  server_.set_read_bytes_max(1000);
  EXPECT_EQ(ReadOn(*file_), whole());
  EXPECT_EQ(ReadAll(*file_), whole());
}

TEST_P(ReadAhead, APieceThatIsRefusedForTheMomentIsAskedForAgain) {
  Mount(whole());
  server_.Inject(op_.read, {.status = op_.jukebox}, 2, 3);
  server_.Inject(op_.read, {.kind = protocol::FakeFault::Kind::kLoseReply}, 1, 7);
  EXPECT_EQ(ReadOn(*file_), whole());
}

// Another client cuts the file before each of the READs: of what was there nothing else is shown.
TEST_P(ReadAhead, TruncationDuringReadAheadShowsNoOldBytes) {
  Mount();
  constexpr size_t kLeft = 10 * kPiece + 100;
  for (size_t read = 0; read <= kPieces; ++read) {
    SCOPED_TRACE(read);
    server_.Put("f", {.mode = 0666, .data = whole()});
    client_->DropCaches();
    file_ = Open(kMayRead);
    BeforeRead(read, [this] { server_.Truncate("f", kLeft); });
    const std::string seen = ReadOn(*file_);
    EXPECT_GE(seen.size(), kLeft);
    EXPECT_EQ(seen, Text(0, seen.size()));
    server_.Before(op_.read, nullptr);
    server_.Truncate("f", kLeft);
    (void)Open();  // sees the size
    EXPECT_EQ(ReadOn(*file_), Text(0, kLeft));
  }
}

// Covers readahead that has come and readahead that is in flight.
TEST_P(ReadAhead, KnownTruncationDropsReadAhead) {
  Mount(whole());
  ReadSome(6);
  ASSERT_EQ(Read(*file_, 6 * kPiece, kPiece / 2), Text(6 * kPiece, kPiece / 2));
  server_.Truncate("f", 7 * kPiece - 100);
  (void)Open();
  EXPECT_EQ(ReadOn(*file_, 6 * kPiece + kPiece / 2),
            Text(6 * kPiece + kPiece / 2, kPiece / 2 - 100));
}

TEST_P(ReadAhead, InvalidationDropsReadAhead) {
  Mount(whole());
  ReadSome(6);
  server_.Truncate("f", 10 * kPiece + 100);
  client_->InvalidateCaches();
  EXPECT_EQ(ReadOn(*file_, 6 * kPiece), Text(6 * kPiece, 4 * kPiece + 100));
}

// Removed by another client before each of the READs.
TEST_P(ReadAhead, AFileThatIsRemovedMeanwhileIsStale) {
  Mount();
  for (size_t read = 0; read < kPieces; ++read) {
    SCOPED_TRACE(read);
    server_.Put("f", {.mode = 0666, .data = whole()});
    client_->DropCaches();
    file_ = Open(kMayRead);
    BeforeRead(read, [this] { server_.Erase("f"); });
    std::errc error{};
    const std::string seen = ReadOn(*file_, 0, kPiece, error);
    EXPECT_EQ(seen, Text(0, seen.size()));
    EXPECT_EQ(error, protocol::kStale);
    EXPECT_EQ(Read(*file_, 0, kPiece).error(), protocol::kStale);
  }
}

TEST_P(ReadAhead, WritesOfThisClientIntoTheWindowAreSeen) {
  Mount(whole());
  std::string expected = whole();
  for (const bool closed : {false, true}) {
    client_->DropCaches();
    file_ = Open();
    ReadSome(6);
    const auto other = Open();
    ASSERT_EQ(other->PWrite(Data(closed, kPiece), 8 * kPiece + 5), kPiece);
    expected.replace(8 * kPiece + 5, kPiece, Text(closed, kPiece));
    if (closed) {
      ASSERT_EQ(other->Close(), kOk);
    }
    for (size_t i = 6; i < 10; ++i) {
      ASSERT_EQ(Read(*file_, i * kPiece, kPiece), expected.substr(i * kPiece, kPiece));
    }
    ASSERT_EQ(other->Close(), kOk);
    EXPECT_EQ(ReadOn(*file_, 10 * kPiece), expected.substr(10 * kPiece));
  }
}

TEST_P(ReadAhead, ATruncationByThisClientIsSeen) {
  Mount(whole());
  ReadSome(6);
  ASSERT_TRUE(file_->SetAttributesOf({.size_bytes = 7 * kPiece}));
  ASSERT_TRUE(file_->SetAttributesOf({.size_bytes = 9 * kPiece}));
  EXPECT_EQ(ReadOn(*file_, 6 * kPiece), Text(6 * kPiece, kPiece) + std::string(2 * kPiece, '\0'));
}

TEST_P(ReadAhead, ReadersOfOneOpenFileAllSeeIt) {
  Mount(whole());
  std::vector<std::jthread> readers;
  for (const size_t bytes : {kPiece, kPiece / 2, 3 * kPiece}) {
    readers.emplace_back([this, bytes] {
      for (int i = 0; i < 5; ++i) EXPECT_EQ(ReadOn(*file_, 0, bytes), whole());
    });
  }
}

#ifndef NDEBUG
// The second reads from where the first has taken data, and less or more of it.
TEST_P(ReadAhead, ReadersAtOnePlaceBothSeeIt) {
  Mount(whole());
  for (const size_t bytes : {kPiece / 2, 5 * kPiece / 2, 6 * kPiece}) {
    file_ = Open(kMayRead);
    ReadSome(4);
    std::optional<Actor> first;
    const StopAt taken("file:read-ahead-taken");
    first.emplace(
        [this] { EXPECT_EQ(Read(*file_, 4 * kPiece, 2 * kPiece), Text(4 * kPiece, 2 * kPiece)); });
    ASSERT_TRUE(taken.Reached(*first));
    EXPECT_EQ(ReadOn(*file_, 4 * kPiece, bytes), whole().substr(4 * kPiece)) << bytes;
  }
  rcu::SyncPointScript::ClearAll();
}

// Its memory takes no other data while the first copies it.
TEST_P(ReadAhead, PieceStaysUntilAllReadersHaveCopiedIt) {
  Mount(whole());
  ASSERT_EQ(Read(*file_, 0, kPiece), Text(0, kPiece));
  std::optional<Actor> first;
  const StopAt copied("read-ahead:before-copy");
  first.emplace([this] { EXPECT_EQ(Read(*file_, kPiece, kPiece), Text(kPiece, kPiece)); });
  ASSERT_TRUE(copied.Reached(*first));
  EXPECT_EQ(ReadOn(*file_, kPiece), whole().substr(kPiece));
  rcu::SyncPointScript::ClearAll();
}

// One waits for the reply, the other for the first, until it is canceled.
TEST_P(ReadAhead, AReaderThatWaitsForAnotherOneCanBeCanceled) {
  Mount(whole());
  std::latch finishing(1), waiting(1), answer(1);
  rcu::SyncPointScript::OnReach("read-ahead:before-finish", [&] { finishing.count_down(); });
  rcu::SyncPointScript::OnReach("read-ahead:before-wait", [&] { waiting.count_down(); });
  BeforeRead(1, [&] { answer.wait(); });
  ASSERT_EQ(Read(*file_, 0, kPiece), Text(0, kPiece));
  const auto read = [this] { EXPECT_EQ(Read(*file_, kPiece, 100), Text(kPiece, 100)); };
  std::optional<Actor> first(std::in_place, read);
  finishing.wait();
  {
    Cancellation cancellation;
    Actor canceler([&] {
      waiting.wait();
      cancellation.Cancel();
    });
    const CancelScope scope(cancellation);
    EXPECT_EQ(Read(*file_, kPiece, 100).error(), std::errc::operation_canceled);
  }
  answer.count_down();
  first.reset();
  read();
  rcu::SyncPointScript::ClearAll();
}
#endif

TEST_P(ReadAhead, ADeadlineLosesNothing) {
  Mount(whole());
  ReadSome(6);
  {
    const Deadline passed(std::chrono::steady_clock::now());
    EXPECT_EQ(Read(*file_, 6 * kPiece, kPiece).error(), std::errc::timed_out);
  }
  EXPECT_EQ(ReadOn(*file_, 6 * kPiece), Text(6 * kPiece, (kPieces - 6) * kPiece));
  EXPECT_EQ(calls(op_.read), static_cast<int>(kPieces) + 1);  // and the end
}

// WIRE-30: as the next reader takes the reply.
TEST_P(ReadAhead, AReadThatIsInterruptedWhileItWaitsLosesNothing) {
  Mount(whole());
  server_.Inject(op_.read, {.kind = protocol::FakeFault::Kind::kHold}, 1, 1);
  ASSERT_EQ(Read(*file_, 0, kPiece), Text(0, kPiece));
  server_.AwaitCalls(op_.read, 2);
  {
    const Deadline soon(std::chrono::steady_clock::now() + std::chrono::milliseconds{50});
    EXPECT_EQ(Read(*file_, kPiece, kPiece).error(), std::errc::timed_out);
  }
  server_.ExecuteHeld();
  EXPECT_EQ(ReadOn(*file_, kPiece), Text(kPiece, (kPieces - 1) * kPiece));
  EXPECT_EQ(calls(op_.read), static_cast<int>(kPieces) + 2);  // held and executed, and the end
}

// All open files together read ahead a fourth of what may be dirty.
TEST_P(ReadAhead, TakesABoundedAmountOfMemory) {
  options_.rsize = 64 << 10;
  Mount(std::string(8 << 20, 'x'));
  nfs::Superblock& superblock = ClientInternals::SuperblockOf(*client_);
  superblock.dirty_files.Shrink();
  const size_t limit = superblock.dirty_files.bytes_max() / data::ReadAhead::kPartOfLimit;
  std::vector<std::unique_ptr<File>> readers;
  size_t most = 0;
  while (readers.size() < limit / data::ReadAhead::kWindowMax + 2) {
    readers.push_back(Open(kMayRead));
    for (int i = 0; i < 2; ++i) {
      ASSERT_EQ(Read(*readers.back(), i << 20, 1 << 20)->size(), 1u << 20);
      most = std::max(most, superblock.read_ahead_bytes.load());
    }
  }
  EXPECT_GE(most, limit);
  EXPECT_LE(most, limit + options_.rsize);
  readers.clear();
  EXPECT_EQ(superblock.read_ahead_bytes.load(), 0u);
}

}  // namespace
}  // namespace nfswalk
