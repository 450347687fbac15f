// Memory shortage at every allocation of a write and of its flush: what was taken is not lost.
#include <gtest/gtest.h>

#include <cstdint>
#include <system_error>
#include <tuple>

#include "tests/fixtures/allocation_shortage.h"
#include "tests/fixtures/fake_mount.h"

namespace nfswalk {
namespace {

using fixtures::AllocationShortage;
using fixtures::Extent;
using fixtures::MemoryKind;

class WriteWithoutMemory : public FakeMount {
 protected:
  WriteWithoutMemory() { options_.wsize = kPiece; }
};
INSTANTIATE_TEST_SUITE_P(Versions, WriteWithoutMemory, testing::Values(3, 4));

// WIRE-22. After the shortage a Sync() writes what it left.
TEST_P(WriteWithoutMemory, AcceptedDataIsNotLost) {
  constexpr size_t kBytes = 6 * kPiece + 100;
  Mount();
  int shortages = 0, short_writes = 0, failed_syncs = 0;
  for (const Extent extent : {Extent::kOnce, Extent::kFromThenOn}) {
    bool occurred = true;
    for (int64_t succeed = 0; occurred; ++succeed) {
      SCOPED_TRACE(succeed);
      ASSERT_TRUE(file_->SetAttributesOf({.size_bytes = 0}));
      Result<size_t> taken = 0;
      std::errc synced{};
      {
        const AllocationShortage shortage(MemoryKind::kHeap, extent, succeed);
        taken = file_->PWrite(Data(0, kBytes), 0);
        synced = file_->Sync();
        occurred = shortage.occurred();
      }
      ASSERT_TRUE(taken || taken.error() == std::errc::not_enough_memory);
      ASSERT_TRUE(synced == kOk || synced == std::errc::not_enough_memory);
      ASSERT_TRUE(occurred || (taken == kBytes && synced == kOk));
      if (synced != kOk) {
        ASSERT_EQ(ReadAll(*file_), Text(0, taken.value_or(0)));
        ASSERT_EQ(file_->Sync(), kOk);
      }
      ASSERT_EQ(Stable(), Text(0, taken.value_or(0)));
      shortages += occurred;
      short_writes += taken != kBytes;
      failed_syncs += synced != kOk;
    }
  }
  EXPECT_GT(shortages, 30);
  EXPECT_GT(short_writes, 5);
  EXPECT_GT(failed_syncs, 5);
}

}  // namespace
}  // namespace nfswalk
