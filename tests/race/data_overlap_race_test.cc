// Threads that write, read and cut overlapping parts of a file beside each other, on a server in
// memory that executes and answers calls late, at random.
#include <gtest/gtest.h>

#include <cstdint>
#include <system_error>
#include <thread>
#include <vector>

#include "tests/fixtures/disturbed_server.h"
#include "tests/fixtures/fake_mount.h"
#include "tests/fixtures/overlap_file.h"
#include "tests/fixtures/overlap_trial.h"

namespace nfswalk {
namespace {

constexpr int kOperations = 1'000;  // for each thread
constexpr uint64_t kThreads = 3, kOperationsOfTruncation = 20;

using DataOverlapRace = FakeMount;
INSTANTIATE_TEST_SUITE_P(Versions, DataOverlapRace, testing::Values(3, 4));

// Nothing makes the client ask for the size, which all of the calls change.
TEST_P(DataOverlapRace, EachByteIsOfAWriteOrATruncationThatNoOtherHasFollowed) {
  options_.wsize = options_.rsize = kPiece;
  options_.dirty_bytes_max = 16 * kPiece;
  Mount();
  const auto seed = static_cast<uint64_t>(testing::UnitTest::GetInstance()->random_seed());
  const protocol::DisturbedServer late(server_, {op_.read, op_.write, op_.commit, op_.setattr},
                                       kOperations, seed);
  fixtures::WriteHistory history(fixtures::OverlapTrial::kCells);
  std::vector<std::jthread> threads;
  for (uint64_t thread = 0; thread < kThreads; ++thread) {
    threads.emplace_back([&, thread] {
      fixtures::OverlapClientFile file(*client_, "f", kUser);
      fixtures::OverlapTrial(history, file, kThreads * seed + thread)
          .Run(kOperations, kOperationsOfTruncation);
      EXPECT_EQ(file.Close(), kOk);
    });
  }
  threads.clear();
  EXPECT_GT(calls(op_.write), kOperations / 10);
  fixtures::ExpectLatest(history, Stable());
}

}  // namespace
}  // namespace nfswalk
