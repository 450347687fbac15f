// `nfswalk doctor` on a server that answers, and on one that does not.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <string>
#include <vector>

#include "tests/integration/command_run.h"

namespace nfswalk {
namespace {

using testing::AllOf;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

class DoctorCommandTest : public CommandRun {
 protected:
  static std::vector<std::string> Names(const Json& advice) {
    std::vector<std::string> names;
    for (const Json& each : advice) names.push_back(each["name"]);
    return names;
  }
};

INSTANTIATE_TEST_SUITE_P(Versions, DoctorCommandTest, fixtures::AllVersions(),
                         fixtures::VersionTestName);

TEST_P(DoctorCommandTest, ReportsWhatTheServerOffers) {
  Directory("d");
  File("d/f");
  const ProgramRun run = Run({"doctor", Url(), "d/f"});
  EXPECT_EQ(run.exit_code, 0) << run.err;
  EXPECT_EQ(run.err, "");
  EXPECT_THAT(run.out,
              AllOf(StartsWith("Version 3    offered"), HasSubstr("\nVersion 4.0  offered"),
                    HasSubstr("\nVersion 4.1  offered"), HasSubstr("\nVersion 4.2  offered"),
                    HasSubstr("\nRound trip   median "), HasSubstr("\nRead         "),
                    HasSubstr("with attributes of the entries"), HasSubstr("255 bytes at most"),
                    HasSubstr("\nCalled as    uid 0 gid 0"),
                    HasSubstr("allowed: read, search, modify, extend, delete\n"),
                    HasSubstr("\nCaches       at most "),
                    HasSubstr("\nWarm stat    'd/f': 100 of 100 in RCU-walk")));
}

TEST_P(DoctorCommandTest, JsonHasItsKeysWithTheirTypes) {
  Directory("d");
  const auto objects =
      Objects(Run({"doctor", "--json", "--uid", "7", "--gid", "8", "--groups", "9", Url(), "d"}));
  ASSERT_EQ(objects.size(), 1u);
  const Json& report = objects[0];
  EXPECT_EQ(report["url"], Url());
  EXPECT_EQ(report["version"], GetParam());
  EXPECT_EQ(report["versions"].size(), 4u);
  EXPECT_EQ(report["versions"][0]["offered"], true);
  EXPECT_EQ(report["credential"], Json::parse(R"({"uid": 7, "gid": 8, "groups": [9]})"));
  EXPECT_EQ(report["round_trip"]["calls"], 32);
  EXPECT_GT(report["round_trip"]["median_ns"].get<uint64_t>(), 0u);
  EXPECT_GT(report["limits"]["read_bytes"].get<uint64_t>(), 4095u);
  EXPECT_EQ(report["limits"]["name_bytes"], 255);
  EXPECT_EQ(report["listings_with_attributes"], true);
  EXPECT_GE(report["caches"]["inodes_max"].get<uint64_t>(), 10'000u);
  EXPECT_TRUE(report["caches"]["limits_from"].is_string());
  EXPECT_EQ(report["names_per_compound"].is_number(), GetParam() == 4);
  EXPECT_EQ(report["lookups"][0]["path"], "d");
  EXPECT_EQ(report["lookups"][0]["in_rcu_mode"], 100);
  EXPECT_EQ(report["lookups"][0]["left"]["getattr_rpc"], 0);
  EXPECT_EQ(Names(report["leaving_rcu_mode"]).empty(), GetParam() == 4);
}

TEST_P(DoctorCommandTest, TellsWhetherAFileOfTheRootIsDelegated) {
  const bool has_sessions = GetParam() == 4;
  const std::string url = has_sessions ? "nfs://127.0.0.1/export?vers=4.2" : Url();
  const auto examine = [&] {
    return Objects(Run({"doctor", "--json", "--uid", "7", "--gid", "7", url})).at(0);
  };
  // How soon the server binds one is up to it.
  EXPECT_EQ(examine()["back_channel"].is_boolean(), has_sessions);
  EXPECT_TRUE(examine()["delegates_files"].is_null());
  File("f");
  const Json delegates = examine()["delegates_files"];
  if (has_sessions && server_->properties().delegates) {
    EXPECT_TRUE(delegates.is_boolean()) << delegates;
  } else {  // not known, where the server cannot call
    EXPECT_TRUE(delegates.is_null() || (has_sessions && delegates == false)) << delegates;
  }
  ASSERT_EQ(chmod((root_ / "f").c_str(), 0), 0);
  EXPECT_TRUE(examine()["delegates_files"].is_null());
}

TEST_P(DoctorCommandTest, TheLatestVersionIsUsedUnlessItIsNamed) {
  const auto used = [](const std::string& options) {
    const Json report =
        Objects(Run({"doctor", "--json", "nfs://127.0.0.1/export?actimeo=60" + options})).at(0);
    return report["version"].dump() + '.' + report.value("minor_version", Json()).dump();
  };
  EXPECT_EQ(used(""), "4.2");
  EXPECT_EQ(used("&lock"), "4.2");
  EXPECT_EQ(used(fmt::format("&vers={}", GetParam())), GetParam() == 4 ? "4.2" : "3.null");
  EXPECT_EQ(used("&minorversion=1"), "4.1");
}

TEST_P(DoctorCommandTest, OptionsThatDisableRcuWalkShowInTheMeasurements) {
  File("f");
  const std::string url = server_->Url("noac", GetParam());
  const auto objects = Objects(Run({"doctor", "--json", url, "f"}));
  ASSERT_EQ(objects.size(), 1u);
  EXPECT_THAT(Names(objects[0]["leaving_rcu_mode"]), Contains("no_attribute_cache"));
  EXPECT_EQ(objects[0]["lookups"][0]["in_rcu_mode"], 0);
  const auto references = Objects(Run({"doctor", "--json", server_->Url("walk=ref", GetParam())}));
  EXPECT_THAT(Names(references.at(0)["leaving_rcu_mode"]), Contains("ref_mode"));
  EXPECT_EQ(references[0]["lookups"][0]["left"]["ref_mode"], 100);
}

TEST_P(DoctorCommandTest, APathThatIsMissingDoesNotHideTheRest) {
  const ProgramRun run = Run({"doctor", Url(), "missing"});
  EXPECT_EQ(run.exit_code, 1);
  EXPECT_THAT(run.err, HasSubstr("doctor 'missing': No such file"));
  EXPECT_THAT(run.out, AllOf(HasSubstr("Round trip"), Not(HasSubstr("Warm stat"))));
}

TEST_P(DoctorCommandTest, ADeniedRootIsReported) {
  ASSERT_EQ(chmod(root_.c_str(), 0700), 0);
  const ProgramRun run = Run({"doctor", "--json", "--uid", "7", "--gid", "7", Url()});
  ASSERT_EQ(chmod(root_.c_str(), 0755), 0);
  EXPECT_THAT(Names(Objects(run).at(0)["who_asks"]), ElementsAre("root_denied")) << run.out;
}

TEST_P(DoctorCommandTest, AnUnreachableServerIsReported) {
  const std::string url =
      "nfs://127.0.0.1:1/export?version=" + std::to_string(GetParam()) + "&mountport=1";
  const ProgramRun run = Run({"doctor", url});
  EXPECT_EQ(run.exit_code, 3);
  EXPECT_THAT(run.err, StartsWith("nfswalk: mount '" + url + "': "));
  EXPECT_THAT(run.out, AllOf(HasSubstr("Version 3    not offered: "),
                             HasSubstr("Version 4.0  not offered: ")));
  const ProgramRun json = Run({"doctor", "--json", url});
  EXPECT_EQ(json.exit_code, 3);
  EXPECT_EQ(Objects(json).at(0)["versions"][0]["offered"], false);
}

}  // namespace
}  // namespace nfswalk
