// Threads that write, read and truncate one file at the same time, by open files of one client of a
// real server.

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <fstream>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "nfsclient/client.h"
#include "nfsclient/superblock/superblock.h"
#include "tests/fixtures/client_internals.h"
#include "tests/fixtures/data_export.h"
#include "tests/fixtures/delaying_proxy.h"
#include "tests/fixtures/file_data.h"
#include "tests/fixtures/mounted_export.h"

namespace nfswalk {
namespace {

using fixtures::BytesOf;
using fixtures::ContentOf;
using fixtures::Difference;
using fixtures::Pattern;
using fixtures::ReadPart;

constexpr int kReaders = 2;

class DataThreads : public fixtures::DataClient {
 protected:
  // Appends `blocks` blocks, with a Sync() after each `blocks_of_sync`, while readers by another
  // File read at random those that were appended before.
  void ReadWhatIsAppended(uint64_t blocks, uint64_t blocks_of_sync);
};
INSTANTIATE_TEST_SUITE_P(Pieces, DataThreads, fixtures::AllDataSettings(),
                         fixtures::DataSettingName);

void DataThreads::ReadWhatIsAppended(uint64_t blocks, uint64_t blocks_of_sync) {
  constexpr size_t kBlock = 4096;
  const auto writer = Create(*client_);
  std::atomic<uint64_t> appended{0}, reads{0}, incomplete{0}, wrong{0};
  std::atomic<bool> ended{false};
  const auto read = [&](uint64_t random) {
    const auto reader = Open(*client_, kMayRead);
    while (!ended.load()) {
      const uint64_t count = appended.load();
      if (count == 0) continue;
      // The latest every other time.
      random = random * 6364136223846793005 + 1442695040888963407;
      const uint64_t block = (random >> 40) % 2 == 0 ? count - 1 : (random >> 33) % count;
      const std::string text = ReadPart(*reader, block * kBlock, kBlock);
      reads.fetch_add(1);
      if (text.size() != kBlock) {
        incomplete.fetch_add(1);
      } else if (text != std::string(kBlock, static_cast<char>(1 + block % 255))) {
        wrong.fetch_add(1);
      }
    }
  };
  {
    std::vector<std::jthread> readers;
    for (int i = 0; i < kReaders; ++i) readers.emplace_back(read, static_cast<uint64_t>(i));
    for (uint64_t block = 0; block < blocks && !HasFailure(); ++block) {
      const std::string text(kBlock, static_cast<char>(1 + block % 255));
      EXPECT_EQ(writer->PWrite(BytesOf(text), block * kBlock), kBlock);
      appended.store(block + 1);
      if ((block + 1) % blocks_of_sync == 0) {
        EXPECT_EQ(writer->Sync(), kOk);
      }
    }
    ended = true;
  }
  EXPECT_EQ(incomplete.load(), 0u) << "of " << reads.load() << " reads";
  EXPECT_EQ(wrong.load(), 0u) << "of " << reads.load() << " reads";
  EXPECT_GT(reads.load(), 0u);
  EXPECT_EQ(writer->Close(), kOk);
}

TEST_P(DataThreads, ReadersSeeWhatWasAppendedAndSynced) { ReadWhatIsAppended(1500, 1); }

TEST_P(DataThreads, ReadersSeeWhatWasAppended) {
  ReadWhatIsAppended(2000 + 4 * limit_bytes() / 4096, UINT64_MAX);
}

// ftruncate(2) is before or after each of the writes of another thread.
TEST_P(DataThreads, ATruncationBesideWritesLeavesWhatTheServerHas) {
  constexpr int kRounds = 200;
  constexpr size_t kPieces = 24;
  const std::string piece = Pattern(piece_bytes());
  const auto writer = Create(*client_), truncater = Open(*client_, kMayRead | kMayWrite);
  for (int round = 0; round < kRounds; ++round) {
    {
      std::jthread truncate([&] {
        for (int i = 0; i < 4; ++i) EXPECT_TRUE(truncater->SetAttributesOf({.size_bytes = 0}));
      });
      for (size_t i = 0; i < kPieces; ++i) {
        EXPECT_EQ(writer->PWrite(BytesOf(piece), i * piece.size()), piece.size());
      }
    }
    const std::string before = ReadPart(*truncater, 0, kPieces * piece.size());
    ASSERT_EQ(writer->Sync(), kOk);
    const std::string content = ContentOf(Backing("file"));
    ASSERT_EQ(Difference(before, content), "") << "before Sync(), round " << round;
    ASSERT_EQ(Difference(ReadPart(*writer, 0, kPieces * piece.size()), content), "")
        << "after Sync(), round " << round;
  }
}

// Committed data is kept for as long as a READ that began before has to show it, no longer.
TEST_P(DataThreads, ReadersDoNotKeepWhatWasCommitted) {
  std::optional<fixtures::DelayingProxy> proxy;
  {
    const fixtures::NfsServer::NetworkScope inside(server());
    proxy.emplace(server().nfs_port(), std::chrono::milliseconds(2));
  }
  const auto distant = Mount(options() + "&port=" + std::to_string(proxy->port()));
  ASSERT_NE(distant, nullptr);
  const nfs::DirtyFiles& files = ClientInternals::SuperblockOf(*distant).dirty_files;
  const auto writer = Create(*distant);
  const std::string piece = Pattern(piece_bytes());
  ASSERT_EQ(writer->PWrite(BytesOf(piece), 0), piece.size());
  ASSERT_EQ(writer->Sync(), kOk);
  std::atomic<bool> ended{false};
  std::atomic<uint64_t> reads{0};
  size_t most = 0;
  {
    std::vector<std::jthread> readers;
    for (int i = 0; i < 3; ++i) {
      readers.emplace_back([&] {
        const auto reader = Open(*distant, kMayRead);
        for (; !ended.load(); reads.fetch_add(1)) {
          EXPECT_EQ(Difference(ReadPart(*reader, 0, piece.size()), piece), "");
        }
      });
    }
    const size_t pieces = 4 * limit_bytes() / piece.size();
    for (size_t i = 1; i < pieces && !HasFailure(); ++i) {
      EXPECT_EQ(writer->PWrite(BytesOf(piece), i * piece.size()), piece.size());
      most = std::max(most, files.bytes());
    }
    ended = true;
  }
  EXPECT_LE(most, limit_bytes());
  EXPECT_GT(reads.load(), 0u);
  EXPECT_EQ(writer->Close(), kOk);
  EXPECT_EQ(files.bytes(), 0u);
}

// Returns the Rss of this process.
size_t ResidentBytes() {
  std::ifstream status("/proc/self/smaps_rollup");
  std::string word;
  while (status >> word && word != "Rss:") {
  }
  size_t kibibytes = 0;
  status >> kibibytes;
  return kibibytes << 10;
}

class MemoryOfAStream : public fixtures::DataExport {};
INSTANTIATE_TEST_SUITE_P(Pieces, MemoryOfAStream,
                         testing::Combine(fixtures::AllVersions(), testing::Values(1 << 20),
                                          testing::Values(32)),
                         fixtures::DataSettingName);

// WIRE-32. What is freed counts, too, as long as the system does not have it again.
TEST_P(MemoryOfAStream, IsTheLimitAndALittleMoreBesideReaders) {
  constexpr size_t kMore = 32 << 20;
  constexpr int kManyReaders = 12;
  const auto client = Mount(options());
  ASSERT_NE(client, nullptr);
  const auto writer = Create(*client);
  const std::string piece = Pattern(piece_bytes());
  ASSERT_EQ(writer->PWrite(BytesOf(piece), 0), piece.size());
  ASSERT_EQ(writer->Sync(), kOk);
  std::vector<std::vector<std::byte>> rooms(kManyReaders, std::vector<std::byte>(piece.size()));
  std::atomic<bool> ended{false};
  std::atomic<uint64_t> reads{0};
  const size_t before = ResidentBytes();
  size_t most = before;
  {
    std::vector<std::jthread> readers;
    for (std::vector<std::byte>& room : rooms) {
      readers.emplace_back([&] {
        const auto reader = Open(*client, kMayRead);
        for (; !ended.load(); reads.fetch_add(1)) EXPECT_EQ(reader->PRead(room, 0), piece.size());
      });
    }
    for (uint64_t i = 1; i < 512 && !HasFailure(); ++i) {
      EXPECT_EQ(writer->PWrite(BytesOf(piece), i * piece.size()), piece.size());
      most = std::max(most, ResidentBytes());
    }
    ended = true;
  }
  EXPECT_LE(most - before, limit_bytes() + kMore) << reads.load() << " reads";
  EXPECT_GT(reads.load(), 0u);
  EXPECT_EQ(writer->Close(), kOk);
}

}  // namespace
}  // namespace nfswalk
