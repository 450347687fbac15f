#include "bench/trace/process_table.h"

#include <gtest/gtest.h>

namespace nfswalk::bench {
namespace {

TEST(ProcessTableTest, PathsAreJoinedAsTextAndDotDotIsKept) {
  EXPECT_EQ(JoinPath("/src", "a/../b"), "/src/a/../b");
  EXPECT_EQ(JoinPath("/", "a"), "/a");
  EXPECT_EQ(JoinPath("/src", "/etc"), "/etc");
  EXPECT_EQ(JoinPath("/src", "a/"), "/src/a/");
}

TEST(ProcessTableTest, TheWorkingDirectoryOfAnUnseenProcessIsUnknown) {
  EXPECT_EQ(ProcessTable().WorkingDirectory(5), "");
}

TEST(ProcessTableTest, AChildBeginsInItsParentsDirectoryAndThenGoesItsOwnWay) {
  ProcessTable table;
  table.SetWorkingDirectory(5, "/src");
  table.Spawn(5, 6, false);
  EXPECT_EQ(table.WorkingDirectory(6), "/src");
  table.SetWorkingDirectory(6, "/src/lib");
  EXPECT_EQ(table.WorkingDirectory(5), "/src");
}

TEST(ProcessTableTest, AThreadSharesItsDirectoryBothWays) {
  ProcessTable table;
  table.SetWorkingDirectory(5, "/src");
  table.Spawn(5, 6, true);
  table.SetWorkingDirectory(6, "/lib");
  EXPECT_EQ(table.WorkingDirectory(5), "/lib");
}

TEST(ProcessTableTest, AReusedPidInheritsFromItsNewParent) {
  ProcessTable table;
  table.SetWorkingDirectory(5, "/a");
  table.Spawn(5, 6, false);
  table.SetWorkingDirectory(6, "/old");
  table.Spawn(5, 6, false);
  EXPECT_EQ(table.WorkingDirectory(6), "/a");
}

}  // namespace
}  // namespace nfswalk::bench
