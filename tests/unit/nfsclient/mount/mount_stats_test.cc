#include "nfsclient/mount/mount_stats.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace nfswalk::mount {
namespace {

TEST(MountStats, SamplesComeBackAsTheyWere) {
  std::vector<Sample> samples = SamplesOf({}, {});
  samples.push_back({"rpc_replies_total", "OPEN_CONFIRM", UINT64_MAX});
  EXPECT_EQ(ParseSamples(FormatSamples(samples)), samples);
  EXPECT_EQ(ParseSamples(""), std::vector<Sample>{});
}

// Another user's file system of FUSE answers what it likes.
TEST(MountStats, AnAnswerWithAnythingButSamplesIsRefused) {
  const std::string whole = "rpcs_total - 1\n";
  ASSERT_TRUE(ParseSamples(whole));
  const std::string escape = "\x1b]0;title\x07";
  for (const std::string& line :
       {escape + " - 1", "rpcs_total " + escape + " 1", std::string("x\",\"forged\":7,\"y - 1"),
        std::string("up{job=\"forged\"} - 1"), std::string("rpc_replies_total a\"b 1"),
        std::string("rpc_replies_total a\\ 1"), std::string("rpcs_total - 1 2"),
        std::string("rpcs_total - -1"), std::string("rpcs_total - 1x"),
        std::string("rpcs_total - "), std::string("rpcs_total 1"), std::string("rpcs_total  1"),
        std::string(" - 1"), std::string("path - 1"), std::string("path_base64 - 1"),
        std::string("rpcs_created - 1"),
        std::string("rpcs_total - 18446744073709551616"), std::string("rpcs\xc3\xa4 - 1"),
        std::string("rpcs_total\0 - 1", 16), std::string("rpcs_total\t-\t1"), std::string("\r")}) {
    EXPECT_FALSE(ParseSamples(whole + line + "\n")) << testing::PrintToString(line);
  }
  EXPECT_FALSE(ParseSamples(whole + "\n"));
}

// OpenMetrics and JSON refuse a name that comes twice, and so does what reads them: all mounts of a
// scrape would be lost by one.
TEST(MountStats, AnAnswerThatNamesASampleTwiceIsRefused) {
  EXPECT_TRUE(ParseSamples("walks_total rcu 1\nrpcs_total - 1\nwalks_total ref 1\n"));
  for (const std::string text : {
           "rpcs_total - 1\nrpcs_total - 1\n",
           "rpcs_total - 1\nwalks_total rcu 1\nrpcs_total - 2\n",
           "walks_total rcu 1\nwalks_total ref 1\nwalks_total rcu 2\n",
           "walks_total rcu 1\nwalks_total - 1\n",       // a member that is a number and an object
           "walks_total - 1\nwalks_total rcu 1\n",
           "cached - 1\ncached_total - 1\n",             // a family that is a gauge and a counter
           "cached_total dentries 1\ncached dentries 1\n",
       }) {
    EXPECT_FALSE(ParseSamples(text)) << text;
  }
}

}  // namespace
}  // namespace nfswalk::mount
