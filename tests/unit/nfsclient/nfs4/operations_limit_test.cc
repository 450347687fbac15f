#include "nfsclient/nfs4/operations_limit.h"

#include <gtest/gtest.h>

#include <cstddef>

namespace nfswalk::protocol {
namespace {

// Sends `wanted` operations 100 times to a server that accepts `limit`. Returns the number refused.
int RefusalsUntilConverged(OperationsLimit& known, size_t wanted, size_t limit) {
  int refused = 0;
  for (int i = 0; i < 100; ++i) {
    const size_t sent = std::min(wanted, known.MaxToSend());
    refused += sent > limit;
    known.Record(sent, sent > limit);
  }
  return refused;
}

TEST(OperationsLimit, IsUnlimitedBeforeARefusal) {
  OperationsLimit limit;
  EXPECT_EQ(RefusalsUntilConverged(limit, 1000, 2000), 0);
  EXPECT_GT(limit.MaxToSend(), 1'000'000u);
}

TEST(OperationsLimit, ConvergesWithFewRefusals) {
  for (const size_t server : {8, 16, 50, 100, 127, 500}) {
    OperationsLimit limit;
    EXPECT_LE(RefusalsUntilConverged(limit, 1000, server), 10) << server;
    EXPECT_LE(limit.MaxToSend(), server);
    EXPECT_GE(limit.MaxToSend() + OperationsLimit::kPrecision, server);
  }
}

// WIRE-14.
TEST(OperationsLimit, FollowsAServerThatAcceptsLess) {
  OperationsLimit limit;
  RefusalsUntilConverged(limit, 1000, 100);
  RefusalsUntilConverged(limit, 1000, 20);
  EXPECT_LE(limit.MaxToSend(), 20u);
  EXPECT_GE(limit.MaxToSend(), OperationsLimit::kMin);
}

TEST(OperationsLimit, NeverFallsBelowOneName) {
  OperationsLimit limit;
  RefusalsUntilConverged(limit, 1000, 1);
  EXPECT_GE(limit.MaxToSend(), OperationsLimit::kMin);
}

}  // namespace
}  // namespace nfswalk::protocol
