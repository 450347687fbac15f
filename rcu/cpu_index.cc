#include "rcu/cpu_index.h"

#include <sched.h>
#include <sys/rseq.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>

#include "rcu/thread_index.h"

namespace nfswalk::rcu {

namespace {

constexpr uint32_t kNoGroup = ~uint32_t{0};

// The processors of a list as "0-3,8": those below `cpus`.
std::vector<uint32_t> ReadCpuList(std::istream& list, uint32_t cpus) {
  std::vector<uint32_t> read;
  for (uint32_t first; list >> first; list.ignore()) {
    uint32_t last = first;
    if (list.peek() == '-') list.ignore() >> last;
    for (uint32_t cpu = first; cpu <= last && cpu < cpus; ++cpu) read.push_back(cpu);
  }
  return read;
}

// The processors that share the last-level cache of `cpu`; empty if that is unknown.
std::vector<uint32_t> CpusOfCache(const std::string& sysfs, uint32_t cpu, uint32_t cpus) {
  constexpr int kIndexMax = 9;
  for (int index = kIndexMax; index >= 0; --index) {
    std::ifstream list(sysfs + "/cpu" + std::to_string(cpu) + "/cache/index" +
                       std::to_string(index) + "/shared_cpu_list");
    if (list) return ReadCpuList(list, cpus);
  }
  return {};
}

}  // namespace

uint32_t CpuIndex() {
  const auto* const area = reinterpret_cast<const rseq*>(
      static_cast<const char*>(__builtin_thread_pointer()) + __rseq_offset);
  // Written by the kernel; negative if unregistered.
  const auto cpu = static_cast<int32_t>(__atomic_load_n(&area->cpu_id, __ATOMIC_RELAXED));
  if (cpu >= 0) [[likely]]
    return static_cast<uint32_t>(cpu);
  const int asked = sched_getcpu();
  return asked >= 0 ? static_cast<uint32_t>(asked) : ThreadIndex();
}

uint32_t CpuCount() { return static_cast<uint32_t>(std::max(1L, sysconf(_SC_NPROCESSORS_CONF))); }

std::vector<uint32_t> CpuGroups(uint32_t cpus, size_t group_max, const std::string& sysfs) {
  std::vector<uint32_t> group_of(cpus, kNoGroup);
  uint32_t groups = 0;
  const auto group = [&](const std::vector<uint32_t>& together) {
    size_t size = group_max;
    for (const uint32_t cpu : together) {
      if (group_of[cpu] != kNoGroup) continue;
      if (size++ == group_max) {
        ++groups;
        size = 1;
      }
      group_of[cpu] = groups - 1;
    }
  };
  std::vector<uint32_t> unknown;
  for (uint32_t cpu = 0; cpu < cpus; ++cpu) {
    if (group_of[cpu] == kNoGroup) group(CpusOfCache(sysfs, cpu, cpus));
    if (group_of[cpu] == kNoGroup) unknown.push_back(cpu);
  }
  group(unknown);
  return group_of;
}

}  // namespace nfswalk::rcu
