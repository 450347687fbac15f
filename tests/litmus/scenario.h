// scenario: what the threads of one test do with the code that ships, and the list of all of them.
#ifndef NFSWALK_TESTS_LITMUS_SCENARIO_H_
#define NFSWALK_TESTS_LITMUS_SCENARIO_H_

#include <cstdint>
#include <string>
#include <vector>

namespace nfswalk::litmus {

class Scenario {
 public:
  // `run` is called once for each execution, of which there are at least `executions_min`; each of
  // `seen` takes place in one of them (Saw()).
  Scenario(void (*run)(), uint64_t executions_min, std::vector<std::string> seen);

  // All of the program, in no order.
  static const std::vector<const Scenario*>& All();
  // Fails the test unless Require() holds in every execution, and no access is a violation.
  void ExpectHolds() const;

  void (*const run)();
  const uint64_t executions_min;
  const std::vector<std::string> seen;
};

// Executions of a scenario that are tried at most; each has fewer.
inline constexpr uint64_t kExecutionsMax = 300'000;

}  // namespace nfswalk::litmus

#endif  // NFSWALK_TESTS_LITMUS_SCENARIO_H_
