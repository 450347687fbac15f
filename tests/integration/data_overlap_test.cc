// Several threads that write, read, cut and sync overlapping parts of a file by open files of their
// own: each byte that is read, and each that is on the server at the end, is of a write that may be
// seen there.

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <thread>
#include <utility>
#include <vector>

#include "nfsclient/client.h"
#include "tests/fixtures/data_export.h"
#include "tests/fixtures/file_data.h"
#include "tests/fixtures/overlap_file.h"
#include "tests/fixtures/overlap_trial.h"

namespace nfswalk {
namespace {

#ifdef NFSWALK_TEST_NIGHTLY
constexpr int kOperations = 100'000;  // for each thread and setting
#else
constexpr int kOperations = 2'000;
#endif
constexpr int kThreads = 3;
// A truncation waits for all WRITEs, so that few are in flight beside other operations.
constexpr uint64_t kRarely = 100, kNever = UINT64_MAX;

class OverlappingWrites : public fixtures::DataClient {
 protected:
  void Run(uint64_t operations_of_truncation) {
    ASSERT_EQ(Create(*client_)->Close(), std::errc{});
    std::vector<std::jthread> threads;
    for (uint64_t thread = 0; thread < kThreads; ++thread) {
      threads.emplace_back([=, this] {
        // One of them is another user's.
        fixtures::OverlapClientFile file(*client_, Path("file"),
                                         thread == 0 ? Credential{7, 7} : root_);
        const auto base = static_cast<uint64_t>(testing::UnitTest::GetInstance()->random_seed());
        fixtures::OverlapTrial(history_, file, kThreads * base + thread)
            .Run(kOperations, operations_of_truncation);
        EXPECT_EQ(file.Close(), std::errc{});
      });
    }
    threads.clear();
    fixtures::ExpectLatest(history_, fixtures::ContentOf(Backing("file")));
  }

  fixtures::WriteHistory history_{fixtures::OverlapTrial::kCells};
};
INSTANTIATE_TEST_SUITE_P(Pieces, OverlappingWrites, fixtures::AllDataSettings(),
                         fixtures::DataSettingName);

TEST_P(OverlappingWrites, EachByteIsOfAWriteThatNoOtherHasFollowed) { Run(kNever); }

TEST_P(OverlappingWrites, EachByteIsOfAWriteOrATruncationThatNoOtherHasFollowed) { Run(kRarely); }

}  // namespace
}  // namespace nfswalk
