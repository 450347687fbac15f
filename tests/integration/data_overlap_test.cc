// Several threads that write, read and sync the same blocks by open files of their own: each byte
// that is read, and each that is on the server at the end, is of a write that may be seen there.

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <mutex>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "nfsclient/client.h"
#include "tests/fixtures/data_export.h"
#include "tests/fixtures/file_data.h"

namespace nfswalk {
namespace {

#ifdef NFSWALK_TEST_NIGHTLY
constexpr int kOperations = 100'000;  // for each thread and setting
#else
constexpr int kOperations = 2'000;
#endif
constexpr std::errc kOk{};
constexpr int kThreads = 3;
// Those in use are neighbours: the file grows, and what is left behind is compared at the end.
constexpr size_t kBlocks = 400, kBlocksInUse = 30;

// The writes to one block, and which of them a reader may see: not one that another write followed
// before the read began. A write and a read at the same time are in either order.
//
// Thread safety: all functions.
class BlockHistory {
 public:
  // Returns the number of a write that begins now; 0 is what the file was created with.
  uint64_t Begin(uint64_t now) {
    const std::lock_guard lock(mutex_);
    writes_.push_back({now, UINT64_MAX});
    return writes_.size() - 1;
  }
  void End(uint64_t number, uint64_t now) {
    const std::lock_guard lock(mutex_);
    writes_[number].end = now;
  }
  bool MayBeSeen(uint64_t number, uint64_t read_began) const {
    const std::lock_guard lock(mutex_);
    if (number >= writes_.size()) return false;
    for (size_t later = writes_.size(); later-- > 0;) {
      const bool is_over = writes_[later].end < read_began;
      if (is_over && writes_[later].begin > writes_[number].end) return false;
    }
    return true;
  }

 private:
  struct Write {
    uint64_t begin, end;
  };
  mutable std::mutex mutex_;
  std::vector<Write> writes_ = {{0, 0}};
};

// A block repeats this. Its size divides no piece, so that blocks lie across two of them.
struct Stamp {
  uint64_t block, number;
};
constexpr size_t kStamps = 300;
using Block = std::array<Stamp, kStamps>;
static_assert(4096 % sizeof(Block) != 0);

class OverlappingWrites : public fixtures::DataExport {
 protected:
  void SetUp() override {
    DataExport::SetUp();
    if (IsSkipped()) return;
    client_ = Mount(options());
    ASSERT_NE(client_, nullptr);
  }

  void Write(File& file, size_t block) {
    const uint64_t number = history_[block].Begin(clock_.fetch_add(1));
    Block data;
    data.fill({block, number});
    ASSERT_EQ(file.PWrite(std::as_bytes(std::span(data)), block * sizeof data), sizeof data);
    history_[block].End(number, clock_.fetch_add(1));
  }
  void Read(File& file, size_t block) {
    const uint64_t began = clock_.fetch_add(1);
    Block data{};
    const auto count =
        file.PRead(std::as_writable_bytes(std::span(data)), block * sizeof data);
    ASSERT_TRUE(count.has_value());
    Check(data, block, began, "read");
  }
  void Check(const Block& data, size_t block, uint64_t began, std::string_view where) {
    for (size_t i = 0; i < kStamps; ++i) {
      const auto [of_block, number] = data[i];
      // Zeros, or the end of the file, are as before the first write.
      ASSERT_TRUE(of_block == block || (of_block == 0 && number == 0))
          << where << ": stamp " << i << " of block " << block << " is of block " << of_block;
      ASSERT_TRUE(history_[block].MayBeSeen(number, began))
          << where << ": stamp " << i << " of block " << block << " is of write " << number
          << ", which others have followed";
    }
  }
  void Run(uint64_t seed) {
    std::mt19937_64 random(seed);
    // One of them is another user's.
    const auto file =
        Open(*client_, kMayRead | kMayWrite, seed % kThreads == 0 ? Credential{7, 7} : root_);
    for (int i = 0; i < kOperations && !HasFatalFailure(); ++i) {
      const size_t first = static_cast<size_t>(i) * (kBlocks - kBlocksInUse) / kOperations;
      const size_t block = first + random() % kBlocksInUse;
      const uint64_t what = random() % 100;
      if (what < 45) {
        Write(*file, block);
      } else if (what < 97) {
        Read(*file, block);
      } else if (what < 99) {
        EXPECT_EQ(file->Sync(), kOk);
      } else {
        EXPECT_TRUE(client_->Stat(Path("file"), root_).has_value());
      }
    }
    EXPECT_EQ(file->Close(), kOk);
  }

  std::unique_ptr<Client> client_;
  std::atomic<uint64_t> clock_{1};
  std::array<BlockHistory, kBlocks> history_;
};
INSTANTIATE_TEST_SUITE_P(Pieces, OverlappingWrites, fixtures::AllDataSettings(),
                         fixtures::DataSettingName);

TEST_P(OverlappingWrites, EachByteIsOfAWriteThatNoOtherHasFollowed) {
  ASSERT_EQ(Create(*client_)->Close(), kOk);
  {
    std::vector<std::jthread> threads;
    for (int thread = 0; thread < kThreads; ++thread) {
      threads.emplace_back([this, thread] { Run(static_cast<uint64_t>(thread)); });
    }
  }
  std::string content = fixtures::ContentOf(Backing("file"));
  content.resize(kBlocks * sizeof(Block));
  for (size_t block = 0; block < kBlocks && !HasFatalFailure(); ++block) {
    Block data;
    std::memcpy(&data, content.data() + block * sizeof data, sizeof data);
    Check(data, block, clock_.load(), "on the server");
  }
}

}  // namespace
}  // namespace nfswalk
