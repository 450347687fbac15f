#include "nfsclient/cli/commands/open_metrics.h"

#include <gtest/gtest.h>

namespace nfswalk::cli {
namespace {

TEST(OpenMetrics, EachFamilyComesOnceWithTheSamplesOfAllMounts) {
  EXPECT_EQ(OpenMetricsOf({{"/a", {{"rpcs_total", "", 1},
                                   {"rpc_replies_total", "READ", 2},
                                   {"cached", "inodes", 3},
                                   {"rpc_replies_total", "WRITE", 4}}},
                           {"/b \"\\\n", {{"cached", "inodes", 5},
                                          {"rpc_replies_total", "READ", 6},
                                          {"rpcs_total", "", 7}}}}),
            R"(# TYPE nfswalk_rpcs counter
nfswalk_rpcs_total{mount="/a"} 1
nfswalk_rpcs_total{mount="/b \"\\\\\\n"} 7
# TYPE nfswalk_rpc_replies counter
nfswalk_rpc_replies_total{mount="/a",procedure="READ"} 2
nfswalk_rpc_replies_total{mount="/a",procedure="WRITE"} 4
nfswalk_rpc_replies_total{mount="/b \"\\\\\\n",procedure="READ"} 6
# TYPE nfswalk_cached gauge
nfswalk_cached{mount="/a",kind="inodes"} 3
nfswalk_cached{mount="/b \"\\\\\\n",kind="inodes"} 5
# EOF
)");
}

TEST(OpenMetrics, ADirectoryIsShownWithoutControlCharactersAndAsUtf8) {
  EXPECT_EQ(OpenMetricsOf({{"/\x1b[2J\xff\xc2\x9b", {{"cached", "inodes", 1}}}}),
            R"(# TYPE nfswalk_cached gauge
nfswalk_cached{mount="/\\x1b[2J\\xff\\xc2\\x9b",kind="inodes"} 1
# EOF
)");
}

// Another user's file system of FUSE names its metrics as it likes, and OpenMetrics refuses a
// family of two types with all that is in the text.
TEST(OpenMetrics, AMetricThatIsACounterAndAGaugeHasNoType) {
  EXPECT_EQ(OpenMetricsOf({{"/a", {{"rpcs_total", "", 1}}},
                           {"/b", {{"rpcs", "", 2}, {"cached_total", "inodes", 3}}},
                           {"/c", {{"cached", "inodes", 4}, {"rpcs_total", "", 5}}}}),
            R"(nfswalk_rpcs_total{mount="/a"} 1
nfswalk_rpcs_total{mount="/c"} 5
nfswalk_rpcs{mount="/b"} 2
nfswalk_cached_total{mount="/b",kind="inodes"} 3
nfswalk_cached{mount="/c",kind="inodes"} 4
# EOF
)");
}

TEST(OpenMetrics, NoMountsAreNoMetrics) { EXPECT_EQ(OpenMetricsOf({}), "# EOF\n"); }

}  // namespace
}  // namespace nfswalk::cli
