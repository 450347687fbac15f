// pressure_signals: what the kernel tells about a shortage of memory.
//
// If it can, a trigger of pressure stall information (PSI): tasks waited for memory for a
// twentieth of two seconds. One for each cgroup of the process that limits memory, and one for the
// machine, which counts only while little memory is available there: its stalls are also those of
// cgroups at limits of their own. A cgroup that takes no trigger: the counter `high` of its
// memory.events.
#ifndef NFSWALK_NFSCLIENT_MEMORY_PRESSURE_SIGNALS_H_
#define NFSWALK_NFSCLIENT_MEMORY_PRESSURE_SIGNALS_H_

#include <poll.h>

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

namespace nfswalk::nfs {

enum class PressureSignal : uint8_t { kMemoryShort, kTimeout, kStopped };

// Whether less than an eighth of the machine's memory is available; `root` as below.
bool MachineHasLittleMemory(const std::string& root);

// Thread safety: Stop() from any thread; the rest one thread at a time.
class PressureSignals {
 public:
  // `root` precedes the paths of all files: for tests.
  explicit PressureSignals(const std::string& root = "");
  ~PressureSignals();
  PressureSignals(const PressureSignals&) = delete;
  PressureSignals& operator=(const PressureSignals&) = delete;

  // False: this kernel tells nothing, or not to this process.
  bool can_tell() const { return sources_.size() > 1; }

  // Waits for the next of the three. A negative timeout waits for ever.
  PressureSignal Wait(std::chrono::milliseconds timeout);
  // Waits for the whole time, or Stop().
  PressureSignal Pause(std::chrono::milliseconds time);
  // For good.
  void Stop();

 private:
  struct Events {
    int descriptor;
    std::string file;
    uint64_t high;
  };

  bool AddTrigger(const std::string& file);
  void AddEvents(const std::string& file);
  bool IsShort(pollfd& source);
  bool HasRisen(int descriptor);

  const std::string root_;
  std::vector<pollfd> sources_;  // the first one stops
  int machine_ = -1;             // the machine's trigger
  std::vector<Events> events_;
};

}  // namespace nfswalk::nfs

#endif  // NFSWALK_NFSCLIENT_MEMORY_PRESSURE_SIGNALS_H_
