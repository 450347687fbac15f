#include "nfsclient/memory/pressure_signals.h"

#include <fcntl.h>
#include <sys/eventfd.h>
#include <sys/inotify.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <new>
#include <string_view>
#include <utility>

#include "nfsclient/memory/cgroup.h"
#include "nfsclient/memory/kernel_file.h"

namespace nfswalk::nfs {
namespace {

// Microseconds of waiting tasks in a window. Without CAP_SYS_RESOURCE a window is a multiple of two
// seconds.
constexpr std::string_view kTrigger = "some 100000 2000000";
// The machine has little memory left if less than this share is available.
constexpr uint64_t kAvailableShare = 8;

// The number after `key` in a file of lines "key number ..."; 0 if there is none.
uint64_t ValueOf(const std::string& file, std::string_view key) {
  const std::string text = ReadKernelFile(file);
  uint64_t value = 0;
  for (std::string_view rest = text; !rest.empty();) {
    std::string_view line = TakeUntil(rest, '\n');
    if (!line.starts_with(key)) continue;
    line.remove_prefix(std::min(line.find_first_of("0123456789"), line.size()));
    std::from_chars(line.data(), line.data() + line.size(), value);
    break;
  }
  return value;
}

}  // namespace

bool MachineHasLittleMemory(const std::string& root) {
  const std::string file = root + "/proc/meminfo";
  return ValueOf(file, "MemAvailable:") < ValueOf(file, "MemTotal:") / kAvailableShare;
}

PressureSignals::PressureSignals(const std::string& root) : root_(root) {
  const std::vector<std::string> cgroups = OwnCgroups(root);
  sources_.reserve(cgroups.size() + 2);
  events_.reserve(cgroups.size());
  const int stop = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  if (stop < 0) return;
  sources_.push_back({.fd = stop, .events = POLLIN, .revents = 0});
  try {
    for (const std::string& cgroup : cgroups) {
      if (!MemoryLimitOf(cgroup)) continue;
      if (!AddTrigger(cgroup + "/memory.pressure")) AddEvents(cgroup + "/memory.events");
    }
    if (AddTrigger(root + "/proc/pressure/memory")) machine_ = sources_.back().fd;
  } catch (const std::bad_alloc&) {
    // Events of the triggers that could be opened are waited for.
  }
}

PressureSignals::~PressureSignals() {
  for (const pollfd& source : sources_) close(source.fd < 0 ? ~source.fd : source.fd);
}

bool PressureSignals::AddTrigger(const std::string& file) {
  const int descriptor = open(file.c_str(), O_RDWR | O_NONBLOCK | O_CLOEXEC);
  if (descriptor < 0) return false;
  const auto bytes = static_cast<ssize_t>(kTrigger.size() + 1);
  if (write(descriptor, kTrigger.data(), kTrigger.size() + 1) != bytes) {
    close(descriptor);
    return false;
  }
  sources_.push_back({.fd = descriptor, .events = POLLPRI, .revents = 0});
  return true;
}

void PressureSignals::AddEvents(const std::string& file) {
  Events events{.descriptor = -1, .file = file, .high = ValueOf(file, "high ")};
  const int descriptor = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
  if (descriptor < 0) return;
  if (inotify_add_watch(descriptor, file.c_str(), IN_MODIFY) < 0) {
    close(descriptor);
    return;
  }
  sources_.push_back({.fd = descriptor, .events = POLLIN, .revents = 0});
  events.descriptor = descriptor;
  events_.push_back(std::move(events));
}

// The counter is compared, since other lines of the file change too.
bool PressureSignals::HasRisen(int descriptor) {
  std::array<char, 4096> notices;
  while (read(descriptor, notices.data(), notices.size()) > 0) continue;
  const auto events = std::ranges::find(events_, descriptor, &Events::descriptor);
  const uint64_t high = ValueOf(events->file, "high ");
  const bool risen = high > events->high;
  events->high = high;
  return risen;
}

bool PressureSignals::IsShort(pollfd& source) try {
  if ((source.revents & POLLERR) != 0) {  // the cgroup is gone
    source.fd = ~source.fd;
    return false;
  }
  if ((source.revents & source.events) == 0) return false;
  if (source.events == POLLIN) return HasRisen(source.fd);
  return source.fd != machine_ || MachineHasLittleMemory(root_);
} catch (const std::bad_alloc&) {
  return true;
}

PressureSignal PressureSignals::Wait(std::chrono::milliseconds timeout) {
  for (;;) {
    const int ready = poll(sources_.data(), sources_.size(), static_cast<int>(timeout.count()));
    if (ready == 0) return PressureSignal::kTimeout;
    if (ready < 0 && errno == EINTR) continue;
    if (ready < 0) return PressureSignal::kStopped;
    if (sources_.front().revents != 0) return PressureSignal::kStopped;
    bool memory_short = false;
    for (size_t i = 1; i < sources_.size(); ++i) memory_short |= IsShort(sources_[i]);
    if (memory_short) return PressureSignal::kMemoryShort;
  }
}

PressureSignal PressureSignals::Pause(std::chrono::milliseconds time) {
  pollfd stop = sources_.front();
  const int ready = poll(&stop, 1, static_cast<int>(time.count()));
  return ready > 0 ? PressureSignal::kStopped : PressureSignal::kTimeout;
}

void PressureSignals::Stop() {
  if (sources_.empty()) return;
  const uint64_t one = 1;
  (void)!write(sources_.front().fd, &one, sizeof one);
}

}  // namespace nfswalk::nfs
