// Data that was written, against servers of both versions that count calls, refuse them and lose
// what was not committed.

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "nfsclient/data/write_back.h"
#include "nfsclient/superblock/superblock.h"
#include "rcu/coarse_clock.h"
#include "tests/fixtures/client_internals.h"
#include "tests/fixtures/fake_mount.h"

namespace nfswalk {
namespace {

using protocol::FakeFault;
using protocol::kForEver;


class WriteBack : public FakeMount {
 protected:
  WriteBack() { options_.wsize = kPiece; }
};
INSTANTIATE_TEST_SUITE_P(Versions, WriteBack, testing::Values(3, 4));

TEST_P(WriteBack, ASmallFileIsOneWriteOfStableDataAtClose) {
  Mount();
  for (size_t at = 0; at < kPiece / 2; at += kPiece / 8) {
    ASSERT_EQ(file_->PWrite(Data(at, kPiece / 8), at), kPiece / 8);
  }
  EXPECT_EQ(calls(op_.write), 0);
  EXPECT_EQ(file_->Close(), kOk);
  EXPECT_EQ(calls(op_.write), 1);
  EXPECT_EQ(calls(op_.commit), 0);
  EXPECT_EQ(Stable(), Text(0, kPiece / 2));
}

TEST_P(WriteBack, FullPiecesAreSentAtOnceAndCommittedOnce) {
  Mount();
  int writes = 0, commits = 0;
  for (const size_t bytes : {kPiece + 1, 16 * kPiece, 17 * kPiece, 40 * kPiece - 1}) {
    EXPECT_EQ(file_->PWrite(Data(0, bytes), 0), bytes);
    EXPECT_EQ(file_->Sync(), kOk);
    EXPECT_EQ(calls(op_.write) - std::exchange(writes, calls(op_.write)),
              static_cast<int>((bytes + kPiece - 1) / kPiece));
    EXPECT_EQ(calls(op_.commit) - std::exchange(commits, calls(op_.commit)), 1);
    EXPECT_EQ(Stable(), Text(0, bytes));
  }
  EXPECT_EQ(file_->Sync(), kOk);
  EXPECT_EQ(calls(op_.commit), commits);
}

// WIRE-20. A restart before each of the calls.
TEST_P(WriteBack, DataLostByARestartIsWrittenAgain) {
  Mount();
  constexpr int kPieces = 20;
  for (int restart_at = 0; restart_at <= kPieces; ++restart_at) {
    SCOPED_TRACE(restart_at);
    ASSERT_TRUE(file_->SetAttributesOf({.size_bytes = 0}));
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
    EXPECT_EQ(file_->PWrite(Data(0, kPieces * kPiece), 0), kPieces * kPiece);
    EXPECT_EQ(ReadAll(*file_), Text(0, kPieces * kPiece));
    EXPECT_EQ(file_->Sync(), kOk);
    EXPECT_EQ(Stable(), Text(0, kPieces * kPiece));
  }
}

// Sends again the later of two writes to the same bytes.
TEST_P(WriteBack, OverwrittenDataIsNotSentAgainAfterARestart) {
  Mount();
  ASSERT_EQ(file_->PWrite(Data(0, 3 * kPiece), 0), 3 * kPiece);
  ASSERT_EQ(file_->PWrite(Data(5 * kPiece, kPiece), kPiece / 2), kPiece);
  ASSERT_EQ(file_->PWrite(Data(9 * kPiece, 10), 2 * kPiece + 7), 10u);
  server_.LoseUncommitted();
  std::string expected = Text(0, 3 * kPiece);
  expected.replace(kPiece / 2, kPiece, Text(5 * kPiece, kPiece));
  expected.replace(2 * kPiece + 7, 10, Text(9 * kPiece, 10));
  EXPECT_EQ(ReadAll(*file_), expected);
  EXPECT_EQ(file_->Sync(), kOk);
  EXPECT_EQ(Stable(), expected);
}

TEST_P(WriteBack, ShortWritesAreContinued) {
  Mount();
  server_.set_write_bytes_max(300);
  EXPECT_EQ(file_->PWrite(Data(0, 5 * kPiece), 0), 5 * kPiece);
  EXPECT_EQ(file_->Sync(), kOk);
  EXPECT_EQ(Stable(), Text(0, 5 * kPiece));
}

TEST_P(WriteBack, APieceThatIsRefusedForTheMomentIsSentAgain) {
  Mount();
  server_.Inject(op_.write, {.status = op_.jukebox}, 1, 2);
  EXPECT_EQ(file_->PWrite(Data(0, 5 * kPiece), 0), 5 * kPiece);
  EXPECT_EQ(file_->Sync(), kOk);
  EXPECT_EQ(Stable(), Text(0, 5 * kPiece));
}

TEST_P(WriteBack, ALostConnectionIsSurvived) {
  Mount();
  for (const int after : {0, 7, 15, 19}) {
    ASSERT_TRUE(file_->SetAttributesOf({.size_bytes = 0}));
    server_.Inject(op_.write, {.kind = FakeFault::Kind::kLoseReply}, 1, after);
    EXPECT_EQ(file_->PWrite(Data(0, 20 * kPiece), 0), 20 * kPiece);
    EXPECT_EQ(file_->Sync(), kOk);
    EXPECT_EQ(Stable(), Text(0, 20 * kPiece));
  }
}

// WIRE-22. What a file tells of a refused WRITE or COMMIT, and that it does so once.
TEST_P(WriteBack, AnErrorIsReportedOnceToEachOpenFile) {
  Mount();
  const auto sync = [](File& file) { return file.Sync(); };
  const auto close = [](File& file) { return file.Close(); };
  const auto write = [&](File& file) {
    const auto count = file.PWrite(Data(0, 1), 0);
    return count ? kOk : count.error();
  };
  const auto append = [&](File& file) {
    const auto count = file.Append(Data(0, 1));
    return count ? kOk : count.error();
  };
  for (const int operation : {op_.write, op_.commit}) {
    for (const auto& [status, error] : {std::pair(op_.no_space, std::errc::no_space_on_device),
                                        {op_.over_quota, static_cast<std::errc>(EDQUOT)}}) {
      int row = 0;
      for (const std::function<std::errc(File&)>& report :
           {std::function<std::errc(File&)>(sync), {close}, {write}, {append}}) {
        SCOPED_TRACE(std::to_string(operation) + " " + std::to_string(row++));
        file_ = Open();
        const auto other = Open();
        ASSERT_EQ(other->PWrite(Data(0, 1), 0), 1u);
        server_.Inject(operation, {.status = status}, kForEver);
        EXPECT_EQ(file_->PWrite(Data(0, 3 * kPiece), kPiece), 3 * kPiece);
        (void)client_->Stat("f", kUser);
        const bool at_commit = operation == op_.commit;
        if (at_commit) (void)client_->SetAttributesOf("f", {.mode = 0666}, kUser);
        server_.ClearFaults();
        EXPECT_EQ(report(*file_), error);
        if (row != 2) {  // not closed
          EXPECT_EQ(file_->Sync(), kOk);
        }
        EXPECT_EQ(other->Sync(), error);
        EXPECT_EQ(other->Close(), kOk);
      }
    }
  }
}

// WIRE-22. A child that closes what it has inherited does not take the error of its parent's fsync.
TEST_P(WriteBack, AFlushLeavesItsErrorToTheNextSync) {
  Mount();
  server_.Inject(op_.write, {.status = op_.no_space}, kForEver);
  ASSERT_EQ(file_->PWrite(Data(0, 1), 0), 1u);
  EXPECT_EQ(file_->Flush(), std::errc::no_space_on_device);
  server_.ClearFaults();
  EXPECT_EQ(file_->Flush(), std::errc::no_space_on_device);
  EXPECT_EQ(file_->Sync(), std::errc::no_space_on_device);
  EXPECT_EQ(file_->Flush(), kOk);
  EXPECT_EQ(file_->Sync(), kOk);
  EXPECT_EQ(Open()->Sync(), kOk);
}

// fstat(2) of what was just written (nfs_getattr()).
TEST_P(WriteBack, AStatHasTheSizeOfWhatWasWritten) {
  Mount();
  for (const size_t bytes : {size_t{1}, kPiece - 1, 3 * kPiece + 5}) {
    ASSERT_EQ(file_->PWrite(Data(0, bytes), 100), bytes);
    EXPECT_EQ(client_->Stat("f", kUser)->size_bytes, bytes + 100);
    const uint64_t sent = client_->stats().rpcs;
    EXPECT_EQ(client_->Stat("f", kUser, {.cached = true})->size_bytes, bytes + 100);
    EXPECT_EQ(client_->stats().rpcs, sent);
  }
}

// Two open files of one inode, one of another user.
TEST_P(WriteBack, OpenFilesSeeEachOthersWrites) {
  Mount();
  const auto other = std::move(*client_->Open("f", kMayRead | kMayWrite, Credential(7, 7)));
  std::string expected(3 * kPiece, '\0');
  for (int i = 0; i < 40; ++i) {
    File& writer = i % 2 == 0 ? *file_ : *other;
    File& reader = i % 3 == 0 ? *file_ : *other;
    const size_t at = static_cast<size_t>(i * 997) % (2 * kPiece), bytes = 1 + at % kPiece;
    ASSERT_EQ(writer.PWrite(Data(at + static_cast<size_t>(i), bytes), at), bytes);
    expected.replace(at, bytes, Text(at + static_cast<size_t>(i), bytes));
    const std::string seen = ReadAll(reader);
    ASSERT_EQ(seen, expected.substr(0, seen.size()));
    ASSERT_GE(seen.size(), at + bytes);
  }
  EXPECT_EQ(file_->Close(), kOk);
  EXPECT_EQ(other->Close(), kOk);
  const std::string stable = Stable();
  EXPECT_EQ(stable, expected.substr(0, stable.size()));
}

// WIRE-23.
TEST_P(WriteBack, DataGoesOutWithTheCredentialThatWroteIt) {
  Mount();
  const auto other = std::move(*client_->Open("f", kMayRead | kMayWrite, Credential(7, 7)));
  ASSERT_EQ(file_->PWrite(Data(0, 100), 0), 100u);
  EXPECT_EQ(calls(op_.write), 0);
  ASSERT_EQ(other->PWrite(Data(0, 100), 50), 100u);
  EXPECT_EQ(calls(op_.write), 1);
  EXPECT_EQ(server_.last_uid(op_.write), kUser.uid());
  EXPECT_EQ(Stable(), Text(0, 100));
  EXPECT_EQ(file_->Sync(), kOk);
  EXPECT_EQ(server_.last_uid(op_.write), 7u);
  EXPECT_EQ(Stable(), Text(0, 50) + Text(0, 100));
}

// WIRE-29. As linkers and assemblers write.
TEST_P(WriteBack, NeighboursGoOutInOneWriteWhateverTheirOrder) {
  Mount();
  size_t at[] = {300, 0, 100, 200, 400};
  do {
    file_ = Open();
    const int before = calls(op_.write);
    for (const size_t offset : at) ASSERT_EQ(file_->PWrite(Data(offset, 100), offset), 100u);
    EXPECT_EQ(file_->Close(), kOk);
    EXPECT_EQ(calls(op_.write) - before, 1);
    EXPECT_EQ(Stable(), Text(0, 500));
  } while (std::next_permutation(std::begin(at), std::end(at)));
  EXPECT_EQ(calls(op_.commit), 0);
}

TEST_P(WriteBack, ManySmallHolesBehindTheEndOfTheFileCostNoWrites) {
  options_.wsize = 16 * kPiece;
  Mount();
  std::string expected;
  for (size_t at = 0; at < 12 * kPiece; at += 103) {
    ASSERT_EQ(file_->PWrite(Data(at, 100), at), 100u);
    expected.resize(at);
    expected += Text(at, 100);
  }
  EXPECT_EQ(file_->Close(), kOk);
  EXPECT_EQ(calls(op_.write), 1);
  EXPECT_EQ(Stable(), expected);
}

// WIRE-29. What is in a hole on the server, or may be, is not written over.
TEST_P(WriteBack, AHoleIsWrittenOnlyWhereTheServerHasNothing) {
  const struct {
    const char* name;
    size_t on_server_bytes, hole_bytes;
    bool attributes_kept, locked;
    int writes;
  } kRows[] = {
      {"behind the end", 100, 2, true, false, 1},
      {"less than a page", 0, kPiece - 1, true, false, 1},
      {"a page", 0, kPiece, true, false, 2},
      {"a byte is before the end", 101, 2, true, false, 2},
      {"before the end", 300, 2, true, false, 2},
      {"its end is unknown", 0, 2, false, false, 2},
      {"locked", 0, 2, true, true, 2},
  };
  for (const auto& row : kRows) {
    SCOPED_TRACE(row.name);
    options_ = {};
    options_.wsize = 4 * kPiece;
    if (!row.attributes_kept) options_.acregmin_s = options_.acregmax_s = 0;
    MountAnew(std::string(row.on_server_bytes, 'x'));
    const int before = calls(op_.write);
    if (row.locked) {
      ASSERT_EQ(file_->TryLock(1, LockType::kWrite, 0, 1), kOk);
      ASSERT_TRUE(client_->Stat("f", kUser));
    }
    ASSERT_EQ(file_->PWrite(Data(0, 100), 0), 100u);
    ASSERT_EQ(file_->PWrite(Data(0, 10), 100 + row.hole_bytes), 10u);
    EXPECT_EQ(file_->Close(), kOk);
    EXPECT_EQ(calls(op_.write) - before, row.writes);
    std::string expected(row.on_server_bytes, 'x');
    expected.resize(std::max(row.on_server_bytes, 110 + row.hole_bytes));
    expected.replace(0, 100, Text(0, 100));
    expected.replace(100 + row.hole_bytes, 10, Text(0, 10));
    EXPECT_EQ(Stable(), expected);
  }
}

// Data of different open files stays apart (WIRE-23).
TEST_P(WriteBack, NeighboursOfTwoOpenFilesAreTwoWrites) {
  Mount();
  const auto other = Open();
  ASSERT_EQ(file_->PWrite(Data(0, 100), 0), 100u);
  ASSERT_EQ(other->PWrite(Data(100, 100), 100), 100u);
  EXPECT_EQ(file_->Close(), kOk);
  EXPECT_EQ(other->Close(), kOk);
  EXPECT_EQ(calls(op_.write), 2);
  EXPECT_EQ(Stable(), Text(0, 200));
}

// WIRE-29.
TEST_P(WriteBack, WrittenDataIsReadWithoutAnRpc) {
  const struct {
    const char* name;
    size_t on_server_bytes, from, bytes;
    bool attributes_kept, locked;
    int reads;
    size_t seen;
  } kRows[] = {
      {"all of it", 0, 50, 100, true, false, 0, 100},
      {"with a hole behind the end", 0, 0, 200, true, false, 0, 200},
      {"beyond the end", 0, 0, 1000, true, false, 0, 200},
      {"from beyond the end", 0, 500, 10, true, false, 0, 0},
      {"a byte that the server has", 300, 49, 10, true, false, 1, 10},
      {"to the server's end", 200, 150, 100, true, false, 0, 50},
      {"beyond what was written", 300, 150, 100, true, false, 1, 100},
      {"all of it, attributes expired", 0, 50, 100, false, false, 0, 100},
      {"a hole, attributes expired", 0, 0, 200, false, false, 1, 200},
      {"locked", 0, 50, 100, true, true, 1, 100},
  };
  for (const auto& row : kRows) {
    SCOPED_TRACE(row.name);
    options_ = {};
    if (!row.attributes_kept) options_.acregmin_s = options_.acregmax_s = 0;
    MountAnew(std::string(row.on_server_bytes, 'x'));
    if (row.locked) {
      ASSERT_EQ(file_->TryLock(1, LockType::kWrite, 0, 1), kOk);
      ASSERT_TRUE(client_->Stat("f", kUser));
    }
    ASSERT_EQ(file_->PWrite(Data(0, 150), 50), 150u);
    std::string expected(row.on_server_bytes, 'x');
    expected.resize(std::max<size_t>(row.on_server_bytes, 200));
    expected.replace(50, 150, Text(0, 150));
    for (const bool sent : {false, true}) {
      const int before = calls(op_.read);
      const size_t from = std::min(row.from, expected.size());
      EXPECT_EQ(Read(*file_, row.from, row.bytes), expected.substr(from, row.seen));
      if (!sent) {
        EXPECT_EQ(calls(op_.read) - before, row.reads);
      }
      EXPECT_EQ(file_->Sync(), kOk);
    }
  }
}

TEST_P(WriteBack, TruncationFollowsWhatWasWrittenBefore) {
  Mount();
  ASSERT_EQ(file_->PWrite(Data(0, 3 * kPiece), 0), 3 * kPiece);
  ASSERT_TRUE(file_->SetAttributesOf({.size_bytes = 10}));
  EXPECT_EQ(ReadAll(*file_), Text(0, 10));
  ASSERT_EQ(file_->PWrite(Data(0, 5), 20), 5u);
  EXPECT_EQ(ReadAll(*file_), Text(0, 10) + std::string(10, '\0') + Text(0, 5));
  EXPECT_EQ(file_->Close(), kOk);
  EXPECT_EQ(Stable(), Text(0, 10) + std::string(10, '\0') + Text(0, 5));
}

TEST_P(WriteBack, WithSyncEachWriteIsStable) {
  options_.sync = true;
  Mount();
  for (const size_t bytes : {size_t{10}, 2 * kPiece + 1}) {
    EXPECT_EQ(file_->PWrite(Data(0, bytes), 0), bytes);
    EXPECT_EQ(Stable().substr(0, bytes), Text(0, bytes));
  }
  server_.Inject(op_.write, {.status = op_.no_space}, kForEver);
  EXPECT_EQ(file_->PWrite(Data(0, 10), 0).error(), std::errc::no_space_on_device);
  EXPECT_EQ(file_->Close(), kOk);
}

TEST_P(WriteBack, ShutdownWithDirtyDataIsReportedAndDoesNotWait) {
  Mount();
  ASSERT_EQ(file_->PWrite(Data(0, 2 * kPiece + 1), 0), 2 * kPiece + 1);
  client_->Shutdown();
  EXPECT_EQ(file_->PWrite(Data(0, 1), 0).error(), std::errc::operation_canceled);
  EXPECT_EQ(file_->Sync(), std::errc::operation_canceled);
}

// A Deadline ends the call that waits, and loses nothing.
TEST_P(WriteBack, DataStaysDirtyAfterADeadline) {
  Mount();
  ASSERT_EQ(file_->PWrite(Data(0, kPiece / 2), 0), kPiece / 2);
  {
    const Deadline passed(std::chrono::steady_clock::now());
    EXPECT_EQ(file_->Sync(), std::errc::timed_out);
  }
  EXPECT_EQ(ReadAll(*file_), Text(0, kPiece / 2));
  EXPECT_EQ(file_->Sync(), kOk);
  EXPECT_EQ(Stable(), Text(0, kPiece / 2));
}

// While it lives, no call of this thread waits.
class Hurry {
 public:
  explicit Hurry(bool by_cancellation) {
    if (by_cancellation) {
      cancellation_.Cancel();
      canceled_.emplace(cancellation_);
    } else {
      deadline_.emplace(std::chrono::steady_clock::now());
    }
  }
  std::errc error() const {
    return canceled_ ? std::errc::operation_canceled : std::errc::timed_out;
  }

 private:
  Cancellation cancellation_;
  std::optional<CancelScope> canceled_;
  std::optional<Deadline> deadline_;
};

// WIRE-30. Servers execute calls in any order.
TEST_P(WriteBack, AnInterruptedWriteThatIsExecutedLateUndoesNoNewerOne) {
  Mount();
  for (const bool by_cancellation : {false, true}) {
    SCOPED_TRACE(by_cancellation);
    const int writes = calls(op_.write);
    server_.Inject(op_.write, {.kind = FakeFault::Kind::kHold});
    ASSERT_EQ(file_->PWrite(Data(0, 100), 0), 100u);
    {
      const Hurry hurry(by_cancellation);
      EXPECT_EQ(file_->Sync(), hurry.error());
      server_.AwaitCalls(op_.write, writes + 1);
      (void)file_->PWrite(Data(1000, 100), 0);
      EXPECT_EQ(file_->Sync(), hurry.error());
    }
    // Over the same connection, and so behind what was sent.
    EXPECT_FALSE(client_->Stat(by_cancellation ? "no such" : "none", kUser));
    EXPECT_EQ(calls(op_.write), writes + 1) << "another WRITE of these bytes may be executed yet";
    server_.ExecuteHeld();
    EXPECT_EQ(file_->PWrite(Data(1000, 100), 0), 100u);
    EXPECT_EQ(file_->Sync(), kOk);
    server_.ExecuteHeld();
    EXPECT_EQ(Stable(), Text(1000, 100));
  }
}

// WIRE-30.
TEST_P(WriteBack, AnInterruptedCommitIsWaitedForAndNotRepeated) {
  Mount();
  server_.Inject(op_.commit, {.kind = FakeFault::Kind::kHold});
  ASSERT_EQ(file_->PWrite(Data(0, 3 * kPiece), 0), 3 * kPiece);
  {
    const Deadline soon(std::chrono::steady_clock::now() + std::chrono::milliseconds{300});
    EXPECT_EQ(file_->Sync(), std::errc::timed_out);
  }
  server_.AwaitCalls(op_.commit, 1);
  server_.ExecuteHeld();
  EXPECT_EQ(file_->Sync(), kOk);
  EXPECT_EQ(calls(op_.commit), 2) << "held, and executed";
  EXPECT_EQ(Stable(), Text(0, 3 * kPiece));
}

// WIRE-28.
TEST_P(WriteBack, OldDirtyDataIsDue) {
  Mount();
  nfs::DirtyFiles& files = ClientInternals::SuperblockOf(*client_).dirty_files;
  ASSERT_EQ(file_->PWrite(Data(0, 10), 0), 10u);
  const uint64_t now_ns = rcu::CoarseNowNs();
  constexpr uint64_t kSecond = 1'000'000'000;
  EXPECT_TRUE(data::FlushDue(files, now_ns + 29 * kSecond));
  EXPECT_EQ(calls(op_.write), 0);
  ASSERT_EQ(file_->PWrite(Data(0, 20), 0), 20u);  // as old as the first
  EXPECT_FALSE(data::FlushDue(files, now_ns + 31 * kSecond));
  EXPECT_EQ(calls(op_.write), 1);
  EXPECT_EQ(Stable(), Text(0, 20));
}

TEST_P(WriteBack, AThreadWritesWhatIsDue) {
  options_.dirty_writeback_ms = 1;
  options_.dirty_expire_ms = 0;
  Mount();
  for (int i = 1; i <= 3; ++i) {
    ASSERT_EQ(file_->PWrite(Data(0, 10), 10 * static_cast<size_t>(i)), 10u);
    server_.AwaitCalls(op_.write, i);
  }
  client_->Shutdown();
}

// WIRE-28. What was written since is committed by another one.
TEST_P(WriteBack, ACommitIsInFlightBeforeAWriterWouldWaitForIt) {
  options_.wsize = 64 << 10;
  Mount();
  nfs::DirtyFiles& files = ClientInternals::SuperblockOf(*client_).dirty_files;
  files.Shrink();
  const std::vector<std::byte> piece(options_.wsize, std::byte{'x'});
  uint64_t at = 0;
  for (; calls(op_.commit) == 0; at += piece.size()) {
    ASSERT_LT(at, files.bytes_max());
    ASSERT_EQ(file_->PWrite(piece, at), piece.size());
  }
  EXPECT_GE(at, files.bytes_max() / 4);
  ASSERT_EQ(file_->PWrite(piece, at), piece.size());
  EXPECT_EQ(file_->Sync(), kOk);
  EXPECT_EQ(Stable(), std::string(at + piece.size(), 'x'));
}

// The end of a lease (RFC 7530 9.5, 9.6.3).
class WriteBackAfterALease : public WriteBack {};
INSTANTIATE_TEST_SUITE_P(Version4, WriteBackAfterALease, testing::Values(4));

TEST_P(WriteBackAfterALease, DataIsWrittenThroughTheFileOpenedAgain) {
  Mount();
  const auto other = Open();
  ASSERT_EQ(file_->PWrite(Data(0, 3 * kPiece + 10), 0), 3 * kPiece + 10);
  nfs4_.ExpireLeases();
  ASSERT_EQ(other->PWrite(Data(0, kPiece), 4 * kPiece), kPiece);
  EXPECT_EQ(file_->Sync(), kOk);
  EXPECT_EQ(other->Close(), kOk);
  EXPECT_EQ(Stable(), Text(0, 3 * kPiece + 10) + std::string(kPiece - 10, '\0') + Text(0, kPiece));
}

// WIRE-17, WIRE-22. The name leads to another file meanwhile: nothing goes there, and no file is
// told that its data was written.
TEST_P(WriteBackAfterALease, DataOfAFileThatCannotBeOpenedAgainIsAnErrorOnceToEachOpenFile) {
  Mount();
  const auto other = Open();
  ASSERT_EQ(other->PWrite(Data(0, 10), 3 * kPiece), 10u);
  ASSERT_EQ(file_->PWrite(Data(0, kPiece + 10), 0), kPiece + 10);
  nfs4_.ExpireLeases();
  server_.Link("f", "kept");
  server_.Erase("f");
  server_.Put("f", {.mode = 0666});
  EXPECT_EQ(file_->Sync(), std::errc::io_error);
  EXPECT_EQ(file_->Sync(), kOk);
  EXPECT_EQ(other->Close(), std::errc::io_error);
  EXPECT_EQ(file_->PWrite(Data(0, 10), 0), 10u);
  EXPECT_EQ(file_->Close(), std::errc::io_error);
  EXPECT_EQ(Stable(), "");
}

}  // namespace
}  // namespace nfswalk
