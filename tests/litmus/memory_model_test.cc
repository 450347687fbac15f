// The model itself, held to the litmus tests that the literature names: each behaviour that C++20
// allows is found, and none that it forbids.
#include "tests/litmus/memory_model.h"

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <functional>
#include <sstream>
#include <string>
#include <vector>

#include "tests/litmus/checked_atomic.h"
#include "tests/litmus/explorer.h"

namespace nfswalk::litmus {
namespace {

// A thread is a list of steps on the cells x, y, z and its registers r0 to r3, relaxed unless an
// order follows:
//
//   x=1:rel  store          fence:sc
//   r0=x:acq load           begin, end, grace   an RCU section, a grace period
//   r0=x+1   fetch_add      r0=x?2              compare_exchange of 0; r0: whether it did
struct Litmus {
  const char* name;
  std::vector<std::string> threads;
  std::string outcome;  // of registers, and of cells in the end
  bool allowed;
};
constexpr bool kAllowed = true;
constexpr bool kForbidden = false;

struct Memory {
  std::array<checked_atomic<int>, 3> cells;
  std::array<int, 4> registers{-1, -1, -1, -1};

  checked_atomic<int>& Cell(const std::string& name) { return cells[name[0] - 'x']; }
  int& Register(const std::string& name) { return registers[name[1] - '0']; }
};

std::memory_order OrderOf(const std::string& name) {
  if (name == "acq") return std::memory_order_acquire;
  if (name == "rel") return std::memory_order_release;
  if (name == "acq_rel") return std::memory_order_acq_rel;
  return name == "sc" ? std::memory_order_seq_cst : std::memory_order_relaxed;
}

void Do(const std::string& step, Memory& memory) {
  const size_t colon = step.find(':');
  const std::string what = step.substr(0, colon);
  const auto order = OrderOf(colon == step.npos ? "" : step.substr(colon + 1));
  if (what == "fence") return checked_fence(order);
  if (what == "begin") return BeginSection();
  if (what == "end") return EndSection();
  if (what == "grace") return WaitForGracePeriod();
  const std::string to = what.substr(0, what.find('='));
  const std::string from = what.substr(to.size() + 1);
  if (to[0] != 'r') return memory.Cell(to).store(std::stoi(from), order);
  int& result = memory.Register(to);
  if (from.size() == 1) {
    result = memory.Cell(from).load(order);
  } else if (from[1] == '+') {
    result = memory.Cell(from).fetch_add(from[2] - '0', order);
  } else {
    int expected = 0;
    result = memory.Cell(from).compare_exchange_strong(expected, from[2] - '0', order,
                                                       std::memory_order_relaxed);
  }
}

std::vector<std::string> Words(const std::string& text) {
  std::istringstream stream(text);
  std::vector<std::string> words;
  for (std::string word; stream >> word;) words.push_back(word);
  return words;
}

bool Ended(const std::string& outcome, Memory& memory) {
  for (const std::string& word : Words(outcome)) {
    const int value = word[0] == 'r' ? memory.Register(word) : memory.Cell(word).load();
    if (value != std::stoi(word.substr(word.find('=') + 1))) return false;
  }
  return true;
}

Result RunLitmus(const Litmus& test, bool all_orders) {
  return Explore(
      [&test] {
        Memory memory;
        std::vector<std::function<void()>> threads;
        for (const std::string& thread : test.threads) {
          threads.push_back([&thread, &memory] {
            for (const std::string& step : Words(thread)) Do(step, memory);
          });
        }
        RunThreads(std::move(threads));
        if (Ended(test.outcome, memory)) Saw("outcome");
      },
      {.all_orders = all_orders});
}

class MemoryModelTest : public testing::TestWithParam<Litmus> {};

TEST_P(MemoryModelTest, ShowsWhatIsAllowedAndNothingElse) {
  const Result result = RunLitmus(GetParam(), /*all_orders=*/false);
  EXPECT_TRUE(result.complete);
  EXPECT_EQ(result.violation, "");
  EXPECT_EQ(result.seen.contains("outcome"), GetParam().allowed) << result.executions;
}

TEST_P(MemoryModelTest, ReductionLeavesOutNoExecution) {
  EXPECT_EQ(RunLitmus(GetParam(), /*all_orders=*/false).executions,
            RunLitmus(GetParam(), /*all_orders=*/true).executions);
}

const Litmus kTests[] = {
    {"SB_relaxed", {"x=1 r0=y", "y=1 r1=x"}, "r0=0 r1=0", kAllowed},
    {"SB_release_acquire", {"x=1:rel r0=y:acq", "y=1:rel r1=x:acq"}, "r0=0 r1=0", kAllowed},
    {"SB_acq_rel_fences",
     {"x=1 fence:acq_rel r0=y", "y=1 fence:acq_rel r1=x"},
     "r0=0 r1=0",
     kAllowed},
    {"SB_one_fence", {"x=1 fence:sc r0=y", "y=1 r1=x"}, "r0=0 r1=0", kAllowed},
    {"SB_fences", {"x=1 fence:sc r0=y", "y=1 fence:sc r1=x"}, "r0=0 r1=0", kForbidden},

    {"MP_relaxed", {"x=1 y=1", "r0=y r1=x"}, "r0=1 r1=0", kAllowed},
    {"MP_release_only", {"x=1 y=1:rel", "r0=y r1=x"}, "r0=1 r1=0", kAllowed},
    {"MP_acquire_only", {"x=1 y=1", "r0=y:acq r1=x"}, "r0=1 r1=0", kAllowed},
    {"MP_release_acquire", {"x=1 y=1:rel", "r0=y:acq r1=x"}, "r0=1 r1=0", kForbidden},
    {"MP_fences", {"x=1 fence:rel y=1", "r0=y fence:acq r1=x"}, "r0=1 r1=0", kForbidden},
    {"MP_release_fence_too_late", {"x=1 y=1 fence:rel", "r0=y:acq r1=x"}, "r0=1 r1=0", kAllowed},
    {"MP_acquire_fence_too_late", {"x=1 y=1:rel", "r0=y r1=x fence:acq"}, "r0=1 r1=0", kAllowed},
    {"MP_fence_and_acquire", {"x=1 fence:rel y=1", "r0=y:acq r1=x"}, "r0=1 r1=0", kForbidden},
    {"MP_release_and_fence", {"x=1 y=1:rel", "r0=y fence:acq r1=x"}, "r0=1 r1=0", kForbidden},

    {"ISA2", {"x=1 y=1:rel", "r0=y:acq z=1:rel", "r1=z:acq r2=x"}, "r0=1 r1=1 r2=0", kForbidden},
    {"ISA2_relaxed_middle",
     {"x=1 y=1:rel", "r0=y:acq z=1", "r1=z:acq r2=x"},
     "r0=1 r1=1 r2=0",
     kAllowed},
    {"WRC", {"x=1", "r0=x y=1:rel", "r1=y:acq r2=x"}, "r0=1 r1=1 r2=0", kForbidden},
    {"WRC_relaxed", {"x=1", "r0=x y=1", "r1=y:acq r2=x"}, "r0=1 r1=1 r2=0", kAllowed},

    {"RS_through_an_increment",
     {"x=1 y=1:rel", "r2=y+1", "r0=y:acq r1=x"},
     "r2=1 r0=2 r1=0",
     kForbidden},
    {"RS_broken_by_a_store", {"x=1 y=1:rel", "y=2", "r0=y:acq r1=x"}, "r0=2 r1=0", kAllowed},
    // Since C++20.
    {"RS_broken_by_the_same_thread", {"x=1 y=1:rel y=2", "r0=y:acq r1=x"}, "r0=2 r1=0", kAllowed},

    {"CoRR", {"x=1", "r0=x r1=x"}, "r0=1 r1=0", kForbidden},
    {"CoRR_of_two", {"x=1", "x=2", "r0=x r1=x", "r2=x r3=x"}, "r0=1 r1=2 r2=2 r3=1", kForbidden},
    {"CoWR", {"x=1 r0=x", "x=2"}, "r0=0", kForbidden},
    {"CoWW", {"x=1 x=2", "x=3"}, "x=1", kForbidden},
    {"W2plus2", {"x=1 y=2", "y=1 x=2"}, "x=1 y=1", kAllowed},
    {"W2plus2_release", {"x=1:rel y=2:rel", "y=1:rel x=2:rel"}, "x=1 y=1", kAllowed},
    {"W2plus2_fences", {"x=1 fence:sc y=2", "y=1 fence:sc x=2"}, "x=1 y=1", kForbidden},
    {"Increments", {"r0=x+1", "r1=x+1"}, "x=1", kForbidden},
    {"CompareExchanges", {"r0=x?1", "r1=x?2"}, "r0=1 r1=1", kForbidden},

    {"IRIW",
     {"x=1:rel", "y=1:rel", "r0=x:acq r1=y:acq", "r2=y:acq r3=x:acq"},
     "r0=1 r1=0 r2=1 r3=0",
     kAllowed},
    {"IRIW_fences",
     {"x=1", "y=1", "r0=x fence:sc r1=y", "r2=y fence:sc r3=x"},
     "r0=1 r1=0 r2=1 r3=0",
     kForbidden},
    {"RWC", {"x=1:rel", "r0=x:acq r1=y:acq", "y=1:rel r2=x:acq"}, "r0=1 r1=0 r2=0", kAllowed},
    {"RWC_fences",
     {"x=1", "r0=x fence:sc r1=y", "y=1 fence:sc r2=x"},
     "r0=1 r1=0 r2=0",
     kForbidden},
    // C++ allows it; the model leaves load buffering out.
    {"LB_is_not_modelled", {"r0=x y=1", "r1=y x=1"}, "r0=1 r1=1", kForbidden},

    {"RCU_sees_all_or_nothing", {"x=1 grace y=1", "begin r0=y r1=x end"}, "r0=1 r1=0", kForbidden},
    {"RCU_sees_nothing", {"x=1 grace y=1", "begin r0=y r1=x end"}, "r0=0 r1=0", kAllowed},
    {"RCU_sees_a_part", {"x=1 grace y=1", "begin r0=x r1=y end"}, "r0=1 r1=0", kAllowed},
    {"RCU_outside_of_sections", {"x=1 grace y=1", "r0=y r1=x"}, "r0=1 r1=0", kAllowed},
    {"RCU_waits_for_stores", {"grace r0=x r1=y", "begin x=1 y=1 end"}, "r0=1 r1=0", kAllowed},
    {"RCU_section_ended_before",
     {"r2=z:acq grace r0=x", "begin x=1 z=1 end"},
     "r2=1 r0=0",
     kForbidden},
};

INSTANTIATE_TEST_SUITE_P(Classic, MemoryModelTest, testing::ValuesIn(kTests),
                         [](const auto& info) { return std::string(info.param.name); });

}  // namespace
}  // namespace nfswalk::litmus
