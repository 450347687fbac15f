#include "bench/measure/row.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace nfswalk::bench {
namespace {

using Json = nlohmann::json;

TEST(Row, KeysKeepTheOrderInWhichTheyWereSet) {
  Row row;
  row.Set("zone", "far").Set("ops", 7u).Set("cold", true).Set("ns", 1.5).Extend(Row());
  row.Extend(Row().Set("lost", -3));
  EXPECT_EQ(row.text(), R"({"zone": "far", "ops": 7, "cold": true, "ns": 1.5, "lost": -3})");
  EXPECT_EQ(Row().text(), "{}");
}

TEST(Row, EveryValueIsJson) {
  const std::vector<size_t> threads = {1, 4};
  const std::vector<std::string> names = {"a\"b", "c"};
  Row row;
  row.Set("text", std::string_view("quote \" newline \n byte \xff"))
      .Set("nan", std::nan(""))
      .Set("threads", std::span<const size_t>(threads))
      .Set("names", std::span<const std::string>(names))
      .Set("inner", Row().Set("a", 1));
  const Json json = Json::parse(row.text());
  EXPECT_EQ(json["text"], "quote \" newline \n byte \xef\xbf\xbd");
  EXPECT_TRUE(json["nan"].is_null());
  EXPECT_EQ(json["threads"], Json({1, 4}));
  EXPECT_EQ(json["names"], Json({"a\"b", "c"}));
  EXPECT_EQ(json["inner"]["a"], 1);
}

TEST(RowWriter, FactsStandFirstTotalsLastAndEachOnALine) {
  const std::string file = testing::TempDir() + "/rows.jsonl";
  auto writer = RowWriter::Open("some", file, Row().Set("files", 3));
  ASSERT_TRUE(writer) << writer.error();
  writer->Write(Row().Set("ops", 1));
  std::vector<Json> lines;
  const auto read = [&] {
    lines.clear();
    std::ifstream stream(file);
    for (std::string line; std::getline(stream, line);) lines.push_back(Json::parse(line));
  };
  read();
  EXPECT_EQ(lines.size(), 2u) << "a row can be read once it is written";
  EXPECT_TRUE(writer->Close(Row().Set("all", 9)));
  read();
  ASSERT_EQ(lines.size(), 3u);
  for (const Json& line : lines) EXPECT_EQ(line["bench"], "some");
  EXPECT_EQ(lines[0]["facts"]["files"], 3);
  EXPECT_GE(lines[0]["facts"]["processors"], 1);
  EXPECT_TRUE(lines[0]["facts"]["optimised"].is_boolean());
  EXPECT_EQ(lines[1]["ops"], 1);
  EXPECT_EQ(lines[2]["totals"]["all"], 9);
}

TEST(RowWriter, FileThatCannotBeWrittenIsNamed) {
  const auto none = RowWriter::Open("some", "/none/rows.jsonl", Row());
  ASSERT_FALSE(none);
  EXPECT_THAT(none.error(), testing::HasSubstr("/none/rows.jsonl"));
  auto full = RowWriter::Open("some", "/dev/full", Row());
  ASSERT_TRUE(full);
  const Outcome closed = full->Close(Row());
  ASSERT_FALSE(closed);
  EXPECT_THAT(closed.error(), testing::HasSubstr("/dev/full"));
}

}  // namespace
}  // namespace nfswalk::bench
