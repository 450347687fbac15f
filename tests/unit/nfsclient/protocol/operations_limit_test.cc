#include "nfsclient/protocol/operations_limit.h"

#include <gtest/gtest.h>

#include <cstddef>

namespace nfswalk::protocol {
namespace {

// Sends `wanted` operations to a server that takes `limit` of them, over and over; counts what was
// refused.
int RefusedUntilSettled(OperationsLimit& known, size_t wanted, size_t limit) {
  int refused = 0;
  for (int i = 0; i < 100; ++i) {
    const size_t sent = std::min(wanted, known.Try());
    refused += sent > limit;
    known.Learn(sent, sent > limit);
  }
  return refused;
}

TEST(OperationsLimit, NothingIsAssumedBeforeTheServerRefuses) {
  OperationsLimit limit;
  EXPECT_EQ(RefusedUntilSettled(limit, 1000, 2000), 0);
  EXPECT_GT(limit.Try(), 1'000'000u);
}

TEST(OperationsLimit, ComesCloseToTheServersWithFewCallsRefused) {
  for (const size_t server : {8, 16, 50, 100, 127, 500}) {
    OperationsLimit limit;
    EXPECT_LE(RefusedUntilSettled(limit, 1000, server), 10) << server;
    EXPECT_LE(limit.Try(), server);
    EXPECT_GE(limit.Try() + OperationsLimit::kExactEnough, server);
  }
}

// WIRE-14.
TEST(OperationsLimit, AServerThatTakesLessThanBeforeIsAskedForLess) {
  OperationsLimit limit;
  RefusedUntilSettled(limit, 1000, 100);
  RefusedUntilSettled(limit, 1000, 20);
  EXPECT_LE(limit.Try(), 20u);
  EXPECT_GE(limit.Try(), OperationsLimit::kMin);
}

TEST(OperationsLimit, NeverFallsBelowOneNameAtATime) {
  OperationsLimit limit;
  RefusedUntilSettled(limit, 1000, 1);
  EXPECT_GE(limit.Try(), OperationsLimit::kMin);
}

}  // namespace
}  // namespace nfswalk::protocol
