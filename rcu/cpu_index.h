// cpu_index: the processor that a thread runs on, and which processors are near each other: hints
// for where data should lie.
//
// Thread safety: any thread.
#ifndef NFSWALK_RCU_CPU_INDEX_H_
#define NFSWALK_RCU_CPU_INDEX_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace nfswalk::rcu {

// raw_smp_processor_id(): the thread may run elsewhere when this returns. One load where the kernel
// keeps the number up to date (rseq(2), which glibc registers), else sched_getcpu(3). Not always
// below CpuCount().
uint32_t CpuIndex();

// Processors that this machine is configured for; at least 1.
uint32_t CpuCount();

// The group of each of the processors from 0 to `cpus` - 1: those that share their last-level
// cache, at most `group_max` in a group. Groups are numbered from 0 on. Processors of which `sysfs`
// says nothing are put together in their order. Throws std::bad_alloc.
std::vector<uint32_t> CpuGroups(uint32_t cpus, size_t group_max,
                                const std::string& sysfs = "/sys/devices/system/cpu");

}  // namespace nfswalk::rcu

#endif  // NFSWALK_RCU_CPU_INDEX_H_
