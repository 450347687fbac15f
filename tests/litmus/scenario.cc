#include "tests/litmus/scenario.h"

#include <gtest/gtest.h>

#include <utility>

#include "tests/litmus/explorer.h"

namespace nfswalk::litmus {
namespace {

std::vector<const Scenario*>& Registry() {
  static std::vector<const Scenario*> all;
  return all;
}

}  // namespace

Scenario::Scenario(void (*run)(), uint64_t executions_min, std::vector<std::string> seen)
    : run(run), executions_min(executions_min), seen(std::move(seen)) {
  Registry().push_back(this);
}

const std::vector<const Scenario*>& Scenario::All() { return Registry(); }

void Scenario::ExpectHolds() const {
  const Result result = Explore(run, {.executions_max = kExecutionsMax});
  ASSERT_EQ(result.violation, "") << result.trace;
  EXPECT_TRUE(result.complete) << "more than " << kExecutionsMax << " executions";
  EXPECT_GE(result.executions, executions_min);
  for (const std::string& event : seen) {
    EXPECT_TRUE(result.seen.contains(event)) << event << " never took place";
  }
  testing::Test::RecordProperty("executions", static_cast<int>(result.executions));
}

}  // namespace nfswalk::litmus
