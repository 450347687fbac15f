#include "nfsclient/cli/options.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <string>
#include <vector>

#include "nfsclient/cli/verbatim.h"

namespace nfswalk::cli {
namespace {

using sunrpc_auth::Credential;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

struct Outcome {
  CommonOptions options;
  std::string error;  // of a CLI::ParseError
};

Outcome Parse(std::vector<const char*> arguments, Paths paths = Paths::kOneOrMore) {
  CLI::App app;
  Outcome outcome;
  DeclareCommonOptions(app, outcome.options, paths, "examples");
  arguments.insert(arguments.begin(), "program");
  try {
    app.parse(ProtectArguments(static_cast<int>(arguments.size()), arguments.data()));
  } catch (const CLI::ParseError& error) {
    outcome.error = error.what();
  }
  return outcome;
}

TEST(CommonOptions, TheUrlComesFirstThenPaths) {
  const Outcome outcome = Parse({"nfs://server/export?soft", "a", "/b/c", "--json", "d"});
  EXPECT_EQ(outcome.error, "");
  EXPECT_EQ(outcome.options.url, "nfs://server/export?soft");
  EXPECT_EQ(outcome.options.mount.server.host, "server");
  EXPECT_FALSE(outcome.options.mount.transport.hard);
  EXPECT_THAT(outcome.options.paths, ElementsAre("a", "/b/c", "d"));
  EXPECT_TRUE(outcome.options.json);
}

TEST(CommonOptions, PathsThatLookLikeListsStayWhatTheyAre) {
  EXPECT_THAT(Parse({"nfs://s/e", "[a,b]"}).options.paths, ElementsAre("[a,b]"));
  EXPECT_THAT(Parse({"nfs://s/e", "{}"}).options.paths, ElementsAre("{}"));
  EXPECT_THAT(Parse({"nfs://s/e", "[", "%%", "{x}", "[]"}).options.paths,
              ElementsAre("[", "%%", "{x}", "[]"));
}

TEST(CommonOptions, StrangePathsReachTheServerUnchanged) {
  const std::string long_path(5000, 'x');
  EXPECT_THAT(Parse({"nfs://s/e", "", "a b", "\xff\n", long_path.c_str()}).options.paths,
              ElementsAre("", "a b", "\xff\n", long_path));
  EXPECT_THAT(Parse({"nfs://s/e", "--", "-x", "--json"}).options.paths,
              ElementsAre("-x", "--json"));
}

TEST(CommonOptions, WithoutAPathTheRootIsMeantWhereACommandAllowsIt) {
  EXPECT_THAT(Parse({"nfs://s/e"}, Paths::kDefaultToRoot).options.paths, ElementsAre("."));
  EXPECT_THAT(Parse({"nfs://s/e", "a"}, Paths::kDefaultToRoot).options.paths, ElementsAre("a"));
  EXPECT_THAT(Parse({"nfs://s/e"}).error, HasSubstr("PATH is required"));
}

TEST(CommonOptions, ABrokenUrlIsExplained) {
  EXPECT_THAT(Parse({"nfs://s/e?timeo=0", "a"}).error, HasSubstr("timeo=0"));
  EXPECT_THAT(Parse({"/export", "a"}).error, HasSubstr("nfs://host[:port]/export"));
}

TEST(CommonOptions, IdsAreDecimalNumbersOf32Bits) {
  EXPECT_EQ(Parse({"nfs://s/e", "a", "--uid", "4294967295"}).options.uid, 4294967295u);
  for (const char* text : {"4294967296", "-1", "root", "0x10", "1 ", "", "1.5"}) {
    EXPECT_THAT(Parse({"nfs://s/e", "a", "--uid", text}).error,
                HasSubstr("'" + std::string(text) + "'"));
    EXPECT_THAT(Parse({"nfs://s/e", "a", "--gid", text}).error, HasSubstr("4294967295"));
  }
}

TEST(CommonOptions, GroupsKeepTheirOrder) {
  EXPECT_THAT(*Parse({"nfs://s/e", "a", "--groups", "27,4,24"}).options.groups,
              ElementsAre(27, 4, 24));
  EXPECT_THAT(*Parse({"nfs://s/e", "a", "--groups", ""}).options.groups, IsEmpty());
  for (const char* text : {",", "1,", ",1", "1,,2", "1;2", "staff"}) {
    EXPECT_THAT(Parse({"nfs://s/e", "a", "--groups", text}).error, HasSubstr("accepted")) << text;
  }
}

TEST(CredentialOf, IsThatOfTheProcessUnlessSomebodyElseIsNamed) {
  EXPECT_EQ(CredentialOf({}), Credential::OfProcess());
  CommonOptions options;
  options.uid = 1000;
  EXPECT_EQ(CredentialOf(options), Credential(1000, getegid()));
  options.gid = 100;
  options.groups = {4, 24};
  EXPECT_EQ(CredentialOf(options), Credential(1000, 100, {4, 24}));
}

}  // namespace
}  // namespace nfswalk::cli
