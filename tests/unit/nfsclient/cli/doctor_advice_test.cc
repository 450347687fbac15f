#include "nfsclient/cli/doctor/doctor_advice.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "access_cache/access_rights.h"
#include "nfsclient/cli/doctor/doctor_report.h"

namespace nfswalk::cli {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

// A server of both versions without defects.
ServerExamination GoodServer() {
  ServerExamination found;
  found.versions = {{3, 0, ""}, {4, 0, ""}};
  found.reached = true;
  found.root.change = 77;
  found.root_granted = 0x1f;
  found.listings_with_attributes = true;
  return found;
}

MountOptions Options(const std::string& options) {
  const auto parsed = ParseMountUrl("nfs://server/export?version=4.0&" + options);
  EXPECT_TRUE(parsed.has_value()) << parsed.error();
  return *parsed;
}

std::vector<std::string> Names(const std::vector<Advice>& advice) {
  std::vector<std::string> names;
  for (const Advice& each : advice) names.push_back(each.name);
  return names;
}

std::vector<std::string> OnLookups(const std::string& options,
                                   const ServerExamination& found = GoodServer()) {
  return Names(AdviseOnLookups(Options(options), found));
}

TEST(DoctorAdvice, AGoodServerAndTheUsualOptionsNeedNone) {
  EXPECT_THAT(OnLookups("soft"), IsEmpty());
  EXPECT_THAT(Names(AdviseOnCredential(Credential(0, 0), GoodServer())), IsEmpty());
}

TEST(DoctorAdvice, EachOptionThatCostsLookupsIsNamed) {
  EXPECT_THAT(OnLookups("walk=ref"), ElementsAre("ref_mode"));
  EXPECT_THAT(OnLookups("noac"), ElementsAre("no_attribute_cache"));
  EXPECT_THAT(OnLookups("actimeo=0"), ElementsAre("no_attribute_cache"));
  EXPECT_THAT(OnLookups("actimeo=1"), ElementsAre("short_lifetimes"));
  EXPECT_THAT(OnLookups("acdirmin=5"), ElementsAre("short_lifetimes"));
  EXPECT_THAT(OnLookups("actimeo=600"), IsEmpty());
  EXPECT_THAT(OnLookups("lookupcache=none"), ElementsAre("lookupcache"));
  EXPECT_THAT(OnLookups("lookupcache=positive"), ElementsAre("lookupcache"));
  EXPECT_THAT(OnLookups("dentries=500"), ElementsAre("small_caches"));
  EXPECT_THAT(OnLookups("nordirplus"), ElementsAre("bare_listings"));
}

TEST(DoctorAdvice, ShortLifetimesAreGivenInSeconds) {
  const auto advice = AdviseOnLookups(Options("acregmin=2&acdirmin=7"), GoodServer());
  ASSERT_EQ(advice.size(), 1u);
  EXPECT_THAT(advice[0].message, HasSubstr("2 s (files) and 7 s (directories)"));
}

TEST(DoctorAdvice, MissingFeaturesOfTheServerAreNamed) {
  ServerExamination found = GoodServer();
  found.listings_with_attributes = false;
  EXPECT_THAT(OnLookups("", found), ElementsAre("bare_listings"));
  found.listings_with_attributes = std::nullopt;
  found.root.change = 0;
  EXPECT_THAT(OnLookups("", found), ElementsAre("no_change_attribute"));
}

TEST(DoctorAdvice, VersionThreeHasNoChangeAttributeAndVersionFourIsProposedWhereOffered) {
  ServerExamination found = GoodServer();
  MountOptions options = Options("");
  options.server.version = 3;
  auto advice = AdviseOnLookups(options, found);
  EXPECT_THAT(Names(advice), ElementsAre("no_change_attribute"));
  EXPECT_THAT(advice[0].message, HasSubstr("version=4"));
  found.versions[1].refusal = "no";
  advice = AdviseOnLookups(options, found);
  EXPECT_THAT(advice.at(0).message, Not(HasSubstr("version=4")));
}

TEST(DoctorAdvice, ReportsSquashAndGroupLimit) {
  ServerExamination found = GoodServer();
  const Credential many(5, 5, std::vector<uint32_t>(17, 9));
  EXPECT_THAT(Names(AdviseOnCredential(many, found)), ElementsAre("groups_cut"));
  found.root_granted = access_cache::kServerRead | access_cache::kServerLookup;
  EXPECT_THAT(Names(AdviseOnCredential(Credential(0, 0), found)), ElementsAre("root_squashed"));
  EXPECT_THAT(Names(AdviseOnCredential(Credential(5, 5), found)), IsEmpty());
  found.root_granted = 0;
  EXPECT_THAT(Names(AdviseOnCredential(Credential(5, 5), found)), ElementsAre("root_denied"));
}

TEST(DoctorReport, UnknownValuesReadAsUnknown) {
  DoctorFindings findings{"nfs://s/e", Options(""), Credential(1, 2), {}, {}, {}, {}, {}};
  findings.server.versions = {{3, 0, "refused\x1b[2J"}, {4, 1, "refused"}};
  EXPECT_THAT(DoctorText(findings), HasSubstr("not offered: refused\\x1b[2J\n"));
  EXPECT_EQ(DoctorJson(findings).text(),
            R"({"url":"nfs://s/e","version":4,"minor_version":0,"versions":[)"
            R"({"version":3,"offered":false,"refusal":"refused\u001b[2J"},)"
            R"({"version":4,"minor_version":1,"offered":false,"refusal":"refused"}],)"
            R"("credential":{"uid":1,"gid":2,"groups":[]},)"
            R"("lookups":[],"leaving_rcu_mode":[],"who_asks":[]})");
  findings.server = GoodServer();
  findings.server.listings_with_attributes = std::nullopt;
  EXPECT_THAT(DoctorText(findings), HasSubstr("not known, the root is empty"));
  EXPECT_THAT(
      DoctorJson(findings).text(),
      HasSubstr(R"("listings_with_attributes":null,"names_per_compound":null,)"
                R"("back_channel":null,"delegates_files":null,"delegates_directories":null)"));
}

TEST(DoctorText, SaysWhetherFilesAreDelegated) {
  DoctorFindings findings{"nfs://s/e", Options(""), Credential(1, 2), {}, {}, {}, {}, {}};
  findings.server = GoodServer();
  EXPECT_THAT(DoctorText(findings), Not(HasSubstr("Delegations")));
  const auto says = [&](bool has_back_channel, std::optional<bool> delegates_files) {
    findings.server.has_back_channel = has_back_channel;
    findings.server.delegates_files = delegates_files;
    const std::string text = DoctorText(findings);
    const size_t begin = text.find("\nDelegations  ");
    return begin == text.npos ? ""
                              : text.substr(begin + 14, text.find('\n', begin + 1) - begin - 14);
  };
  EXPECT_EQ(says(false, std::nullopt),
            "not known: the server has bound no connection to call over");
  EXPECT_EQ(
      says(true, std::nullopt),
      "not known: the server says that it cannot call, or no file of the root could be opened");
  EXPECT_EQ(says(true, false), "refused for a file that was opened to read");
  EXPECT_EQ(says(true, true), "granted for files that are opened to read (option delegs)");
  EXPECT_THAT(DoctorText(findings), Not(HasSubstr("Directories")));
  findings.server.delegates_directories = true;
  EXPECT_THAT(DoctorText(findings), HasSubstr("delegated, the root at least (option delegs)\n"));
  findings.server.delegates_directories = false;
  EXPECT_THAT(DoctorText(findings), HasSubstr("not delegated, at least not the root\n"));
}

TEST(Summarize, HasTheMiddleOfWhatWasMeasured) {
  const Durations durations = Summarize({5, 1, 9, 3, 7});
  EXPECT_EQ(durations.calls, 5u);
  EXPECT_EQ(durations.min_ns, 1u);
  EXPECT_EQ(durations.median_ns, 5u);
  EXPECT_EQ(durations.max_ns, 9u);
  EXPECT_EQ(Summarize({}).calls, 0u);
}

}  // namespace
}  // namespace nfswalk::cli
