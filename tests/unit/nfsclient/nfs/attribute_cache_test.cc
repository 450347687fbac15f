// Freshness of attributes: for each state what RCU-walk answers, what ref-walk answers, and the
// calls that takes.
#include "nfsclient/nfs/attribute_cache.h"

#include <gtest/gtest.h>

#include <system_error>

#include "tests/exits/exits.h"

namespace nfswalk::exits {
namespace {

// ATTR-1, ATTR-2.
TEST(AttributesFreshFor, AttributesAreFreshFromTheirRequestUpToAndWithoutTheirEnd) {
  icache::Inode inode;
  inode.read_at_ns = 1000;
  inode.lifetime_ns = 10;
  EXPECT_FALSE(nfs::AttributesFresh(inode, 999)) << "a clock that stepped back";
  EXPECT_FALSE(nfs::AttributesFresh(inode, 1));
  EXPECT_TRUE(nfs::AttributesFresh(inode, 1000));
  EXPECT_TRUE(nfs::AttributesFresh(inode, 1009));
  EXPECT_FALSE(nfs::AttributesFresh(inode, 1010));
  EXPECT_FALSE(nfs::AttributesFresh(inode, ~0ull));
  inode.lifetime_ns = 0;
  EXPECT_FALSE(nfs::AttributesFresh(inode, 1000));
  inode.lifetime_ns = 10;
  inode.invalid = icache::kInvalidChange;
  EXPECT_FALSE(nfs::AttributesFresh(inode, 1000));
}

using AttributesFresh = Exits;

// ATTR-1.
TEST_F(AttributesFresh, TheLastNanosecondIsFreshAndTheNextIsNot) {
  options_.acregmin_s = options_.acregmax_s = 3;
  Mount();
  Warm(StatOf("d/f"));
  SteeredClock::Pass(3 * kSecond - 1);
  Answered(StatOf("d/f"));
  SteeredClock::Pass(1);
  Left(StatOf("d/f"), NeedRef::kGetattrRpc, kOk, {"GETATTR 3"});
  Answered(StatOf("d/f"));
}

TEST_F(AttributesFresh, AClockBeforeTheBeginningIsTooLate) {
  Mount();
  Warm(StatOf("d/f"));
  SteeredClock::Set(SteeredClock::Now() - 1);
  Left(StatOf("d/f"), NeedRef::kGetattrRpc, kOk, {"GETATTR 1", "GETATTR 2", "GETATTR 3"});
  Answered(StatOf("d/f"));
}

// ATTR-4.
TEST_F(AttributesFresh, NoacIsNeverFresh) {
  options_.acregmin_s = options_.acregmax_s = options_.acdirmin_s = options_.acdirmax_s = 0;
  Mount();
  Warm(StatOf("d/f"));
  Left(StatOf("d/f"), NeedRef::kGetattrRpc, kOk,
       {"ACCESS 1", "GETATTR 1", "ACCESS 2", "GETATTR 2", "GETATTR 3"});
  Left(StatOf("/"), NeedRef::kGetattrRpc, kOk, {"GETATTR 1"});
}

// ACCESS-1.
TEST_F(AttributesFresh, WhatNeedsNoAttributesDoesNotAsk) {
  Mount();
  Warm(AccessTo("d/f", 0));
  InvalidateAttributes("d/f");
  Answered(AccessTo("d/f", 0));
  Answered(TextOf("d/f"), std::errc::invalid_argument);
}

}  // namespace
}  // namespace nfswalk::exits
