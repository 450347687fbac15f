// victim: a program that runs until it ends or has to be killed, with a terminal as its output.
//
// Thread safety: all functions.
#ifndef NFSWALK_TESTS_HOSTILE_VICTIM_H_
#define NFSWALK_TESTS_HOSTILE_VICTIM_H_

#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace nfswalk::hostile {

struct VictimLimits {
  std::optional<std::chrono::milliseconds> killed_after = {};       // none: the test's own timeout
  std::optional<std::chrono::milliseconds> interrupted_after = {};  // with SIGINT
  // Asked all the time: whether to kill it, and whether to interrupt it (again).
  std::function<bool()> is_killed = nullptr;
  std::function<bool()> is_interrupted = nullptr;
};

struct VictimEnd {
  bool was_killed = false;  // by its limits
  int signal = 0;           // that ended it
  int exit_code = -1;
  long resident_kib_max = 0;
  // The first MiB of each: standard output is a terminal, standard error is none.
  std::string out = {};
  std::string err = {};
};

// By tests/hostile/launcher. `argv`: the program first; searched in PATH unless it has a slash.
VictimEnd RunVictim(std::vector<std::string> argv, const VictimLimits& limits);

}  // namespace nfswalk::hostile

#endif  // NFSWALK_TESTS_HOSTILE_VICTIM_H_
