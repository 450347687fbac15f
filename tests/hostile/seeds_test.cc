#include "tests/hostile/seeds.h"

#include <gtest/gtest.h>

#include <map>

#include "tests/fixtures/libnfs_raw.h"
#include "tests/hostile/attack.h"

namespace nfswalk::hostile {
namespace {

std::string ResultsOf(const Seed& seed) {
  protocol::XdrReader reader(seed.stream);
  const std::string header = reader.Raw(28);
  EXPECT_EQ(header,
            Xdr().U32(kLastFragment | (seed.stream.size() - 4), kSeedXid, 1, 0, 0, 0, 0).str())
      << seed.name;
  return reader.Rest();
}

TEST(Seeds, GoodRepliesSucceed) {
  size_t good = 0, failed = 0;
  for (const Seed& seed : Seeds()) {
    if (seed.name != "Benign") continue;
    ++good;
    const std::string results = ResultsOf(seed);
    const uint32_t status = protocol::XdrReader(results).U32();
    // A port has no status, and what is closed was not opened.
    const bool may_fail = seed.call.program == PMAP_PROGRAM || seed.version == 4;
    EXPECT_TRUE(status == 0 || may_fail) << seed.call.procedure << ": " << status;
    failed += status != 0;
  }
  EXPECT_GT(good, 20u);
  EXPECT_EQ(failed, 2u);
}

TEST(Seeds, DifferFromTheGoodReplyToTheSameCall) {
  std::map<std::string, std::string> good;
  size_t silent = 0;
  for (const Seed& seed : Seeds()) {
    const std::string key =
        Xdr().U32(seed.call.program, seed.call.procedure).Raw(seed.call.arguments).str();
    if (seed.name == "Benign") {
      good[key] = seed.stream;
      continue;
    }
    silent += seed.stream.empty();
    // The good reply arrives late in the first and last of these, and the second begins with it.
    const bool late = seed.name == "AByteASecond" || seed.name == "RepliesInReverseOrder" ||
                      seed.name.ends_with("AByteASecond");
    EXPECT_EQ(seed.stream == good.at(key), late)
        << "V" << seed.version << seed.name << " " << seed.stream.size();
  }
  EXPECT_LT(silent, 20u);
}

}  // namespace
}  // namespace nfswalk::hostile
