// memory as a user runs it, with a few files: which rows there are and how it ends, never how long
// a call takes.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "bench/memory/room.h"
#include "tests/fixtures/program_run.h"

namespace nfswalk {
namespace {

using fixtures::ProgramRun;
using fixtures::RunProgram;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Pair;
using Json = nlohmann::json;

constexpr const char* kBinary = "bench/memory/memory";

std::string JsonFile() { return testing::TempDir() + "/rows.json"; }

TEST(MemoryTest, EveryCacheThatHoldsAHotSetIsAskedForIt) {
  const ProgramRun run =
      RunProgram(kBinary, {"--quick", "--files-max", "3000", "--hot", "100,2000", "--repetitions",
                           "1", "--turn-ms", "1", "--json", JsonFile()});
  ASSERT_EQ(run.exit_code, 0) << run.err;
  std::vector<std::pair<uint64_t, uint64_t>> costs;
  int bytes_rows = 0;
  for (const Json& row : Json::parse(std::ifstream(JsonFile()))) {
    EXPECT_EQ(row["subject"], "nfswalk");
    if (row.contains("files")) {
      EXPECT_EQ(row["files"], 3000);
      EXPECT_GT(row["bytes_per_file"], 128) << "a name, a handle and attributes";
      ++bytes_rows;
    } else {
      costs.emplace_back(row["hot"], row["entries"]);
      EXPECT_GT(row["ns_per_op"], 0) << row;
      EXPECT_LE(row["ns_min"], row["ns_per_op"]) << row;
    }
  }
  EXPECT_EQ(bytes_rows, 2) << "with short names, and with some that are long";
  EXPECT_THAT(costs, ElementsAre(Pair(100, 1000), Pair(100, 3000), Pair(2000, 3000)));
  EXPECT_THAT(run.out, HasSubstr("Figures to reach"));
}

TEST(MemoryTest, MoreFilesThanFitInThisMachineAreRefusedBeforeTheyAreMade) {
  if (bench::NoRoomFor(std::vector<uint64_t>{100'000'000}, *bench::AvailableBytes()).empty()) {
    GTEST_SKIP() << "there is room for them";
  }
  const ProgramRun run = RunProgram(kBinary, {"--files-max", "100000000"});
  EXPECT_EQ(run.exit_code, 1);
  EXPECT_THAT(run.err, HasSubstr("100000000"));
  EXPECT_THAT(run.err, HasSubstr("--files-max"));
}

TEST(MemoryTest, RowsThatCannotBeWrittenAreAnError) {
  const ProgramRun run = RunProgram(kBinary, {"--quick", "--files-max", "1000", "--repetitions",
                                              "1", "--turn-ms", "1", "--json", "/none/rows.json"});
  EXPECT_EQ(run.exit_code, 1);
  EXPECT_THAT(run.err, HasSubstr("/none/rows.json"));
}

}  // namespace
}  // namespace nfswalk
