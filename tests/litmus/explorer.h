// explorer: runs a scenario in every interleaving of its threads and with every outcome of their
// loads that the memory model allows.
//
// A scenario is a function. It makes its objects, hands its threads to RunThreads(), and looks at
// the result. The explorer calls it once for each execution; threads are fibers that take turns
// before each access to an atomic object. Executions that differ only in the order of independent
// accesses are tried once (dynamic partial-order reduction with sleep sets).
//
// RCU is modelled by what a grace period guarantees: it ends after all sections that had begun
// before it, and sees what they did; a section that begins after it sees what was done before it.
//
// Thread safety: none.
#ifndef NFSWALK_TESTS_LITMUS_EXPLORER_H_
#define NFSWALK_TESTS_LITMUS_EXPLORER_H_

#include <atomic>
#include <cstdint>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace nfswalk::litmus {

// A place in the code that names an order which is not relaxed.
struct Site {
  std::string file;  // from the root of the checkout
  uint32_t line;
  std::string function;
  std::memory_order order;

  friend auto operator<=>(const Site&, const Site&) = default;
};

// Replaces the order of one site.
struct Weakening {
  Site site;
  std::memory_order order;
};

struct Result {
  uint64_t executions = 0;     // different ones
  uint64_t redundant = 0;      // given up, since equivalent ones had been tried
  bool complete = false;       // false if there were more than `executions_max`
  std::string violation;       // the first; ends the exploration
  std::string trace;           // of the execution with the violation, a step a line
  std::set<std::string> seen;  // arguments of Saw()
  std::set<Site> sites;        // met outside of tests/
};

struct Options {
  uint64_t executions_max = 1'000'000;
  std::optional<Weakening> weakening = std::nullopt;
  bool all_orders = false;  // tries all turns at each step, to check the reduction
};

Result Explore(const std::function<void()>& scenario, const Options& options);

// The rest is for scenarios and the code they run.

// Runs the threads, and the deferred callbacks that they make, to their ends. Once a scenario.
void RunThreads(std::vector<std::function<void()>> threads);
// Ends the exploration unless `holds`.
void Require(bool holds, std::string_view what);
// Records that something took place in an execution. True, to be used in conditions.
bool Saw(std::string_view what);

// True in a thread of RunThreads(). Elsewhere nothing is modelled.
bool InThread();
// From 1 in RunThreads(); 0 elsewhere.
uint32_t ThreadNumber();
// Waits, before the next load of the object last loaded, until that has changed.
void AwaitChange();

void BeginSection();
void EndSection();
bool InSection();
void WaitForGracePeriod();
void AfterGracePeriod(std::function<void()> callback);

// Accesses to atomic objects (checked_atomic.h). `raw` is what the memory at `address` holds.
struct Place {
  const char* file;
  uint32_t line;
  const char* function;
};
struct Cell {
  void* address;
  uint64_t raw;
  uint8_t bytes;
};
uint64_t LoadAtomic(Cell cell, std::memory_order order, Place place);
void StoreAtomic(Cell cell, uint64_t value, std::memory_order order, Place place);
// Stores update(old) and returns the old value; nullopt from `update` is a load with `failure`.
uint64_t UpdateAtomic(Cell cell, const std::function<std::optional<uint64_t>(uint64_t)>& update,
                      std::memory_order order, std::memory_order failure, Place place);
void FenceThread(std::memory_order order, Place place);
void ConstructAtomic(void* address);
void DestroyAtomic(void* address);
void ReadPlain(const void* address);
void WritePlain(const void* address);

}  // namespace nfswalk::litmus

#endif  // NFSWALK_TESTS_LITMUS_EXPLORER_H_
