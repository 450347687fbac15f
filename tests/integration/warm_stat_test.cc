// warm_stat as a user runs it, over a tiny tree: which rows there are and how it ends, never how
// long a call takes.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <tuple>

#include "tests/fixtures/ganesha_server.h"
#include "tests/fixtures/program_run.h"

namespace nfswalk {
namespace {

using fixtures::GaneshaServer;
using fixtures::ProgramRun;
using fixtures::RunProgram;
using testing::HasSubstr;
using Json = nlohmann::json;

constexpr const char* kBinary = "bench/warm_stat/warm_stat";

std::string JsonFile() { return testing::TempDir() + "/rows.json"; }

TEST(WarmStatTest, EverySubjectTakesEveryCourseAndAnswersRight) {
  if (geteuid() != 0) GTEST_SKIP() << GaneshaServer::Start().error();
  const ProgramRun run =
      RunProgram(kBinary, {"--quick", "--files", "200", "--repetitions", "1", "--turn-ms", "1",
                           "--threads", "1,2", "--json", JsonFile()});
  ASSERT_EQ(run.exit_code, 0) << run.err;
  const Json rows = Json::parse(std::ifstream(JsonFile()));
  std::map<std::tuple<std::string, std::string, int>, int> courses;
  for (const Json& row : rows) {
    ++courses[{row["subject"], row["mode"], row["identities"]}];
    EXPECT_GT(row["ns_per_op"], 0) << row;
    EXPECT_LE(row["ns_min"], row["ns_per_op"]) << row;
    EXPECT_GT(row["scaling"], 0) << row;
  }
  // Nine courses, with one thread and with two; one of them also as four identities.
  for (const char* mode : {"ref", "rcu-locked", "rcu-peek", "nopathcache", "rcu-search"}) {
    EXPECT_EQ((courses[{"nfswalk", mode, 1}]), 9 * 2) << mode;
    EXPECT_EQ((courses[{"nfswalk", mode, 4}]), 1 * 2) << mode;
  }
  EXPECT_EQ((courses[{"kernel, tmpfs", "-", 1}]), 9 * 2);
  EXPECT_EQ((courses[{"libnfs sync", "-", 1}]), 9 * 2);
  EXPECT_EQ(courses.size(), 12u);
  EXPECT_THAT(run.out, HasSubstr("Figures to reach"));
}

TEST(WarmStatTest, AServerThatIsNotThereIsNamed) {
  const ProgramRun run =
      RunProgram(kBinary, {"--server", "nfs://127.0.0.1/none?nfsport=1&version=4"});
  EXPECT_EQ(run.exit_code, 1);
  EXPECT_THAT(run.err, HasSubstr("127.0.0.1"));
}

}  // namespace
}  // namespace nfswalk
