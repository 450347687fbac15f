#include "rcu/cpu_index.h"

#include <gtest/gtest.h>
#include <sched.h>
#include <sys/rseq.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

namespace nfswalk::rcu {
namespace {

using Groups = std::vector<uint32_t>;

// The build runs this file once more without rseq.
TEST(CpuIndex, IsTheProcessorThatTheThreadIsBoundToWithAndWithoutRseq) {
  const char* const tunables = std::getenv("GLIBC_TUNABLES");
  const bool without = tunables != nullptr && std::string_view(tunables).contains("rseq=0");
  EXPECT_TRUE(!without || __rseq_size == 0);
  cpu_set_t allowed;
  ASSERT_EQ(sched_getaffinity(0, sizeof allowed, &allowed), 0);
  for (uint32_t cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
    if (!CPU_ISSET(cpu, &allowed)) continue;
    std::jthread([cpu] {
      cpu_set_t one;
      CPU_ZERO(&one);
      CPU_SET(cpu, &one);
      ASSERT_EQ(sched_setaffinity(0, sizeof one, &one), 0);
      EXPECT_EQ(CpuIndex(), cpu);
    }).join();
  }
  EXPECT_GE(CpuCount(), static_cast<uint32_t>(CPU_COUNT(&allowed)));
}

// Maps each processor to the shared_cpu_list of its caches in sysfs, by index.
using Caches = std::map<uint32_t, std::vector<std::string>>;

Groups GroupsOf(const Caches& caches, uint32_t cpus) {
  namespace fs = std::filesystem;
  const fs::path sysfs = fs::path(testing::TempDir()) / "cpus";
  fs::remove_all(sysfs);
  for (const auto& [cpu, lists] : caches) {
    for (size_t index = 0; index < lists.size(); ++index) {
      const fs::path cache =
          sysfs / ("cpu" + std::to_string(cpu)) / "cache" / ("index" + std::to_string(index));
      fs::create_directories(cache);
      std::ofstream(cache / "shared_cpu_list") << lists[index] << "\n";
    }
  }
  return CpuGroups(cpus, 4, sysfs);
}

TEST(CpuGroups, ShareALastLevelCacheAndAreOfLimitedSize) {
  const Caches two_of_six = {{0, {"0,6", "0,6", "0-2,6-8"}}, {3, {"3,9", "3,9", "3-5,9-11"}}};
  const struct {
    const char* name;
    Caches caches;
    uint32_t cpus;
    Groups groups;
  } rows[] = {
      {"one cache", {{0, {"0", "0", "0-3"}}}, 4, {0, 0, 0, 0}},
      {"one cache of more than a group", {{0, {"0", "0-5"}}}, 6, {0, 0, 0, 0, 1, 1}},
      {"two caches, listed by hyper-thread", two_of_six, 12, {0, 0, 0, 2, 2, 2, 0, 1, 1, 2, 3, 3}},
      {"a cache each", {{0, {"0"}}, {1, {"1"}}, {2, {"2"}}}, 3, {0, 1, 2}},
      {"nothing known", {}, 9, {0, 0, 0, 0, 1, 1, 1, 1, 2}},
      {"a processor that is offline", {{0, {"0,2"}}, {3, {"3"}}}, 4, {0, 2, 0, 1}},
      {"a list beyond the machine", {{0, {"0-4294967295"}}}, 2, {0, 0}},
      {"no list", {{0, {"x"}}}, 2, {0, 0}},
      {"no processors", {}, 0, {}},
  };
  for (const auto& row : rows) EXPECT_EQ(GroupsOf(row.caches, row.cpus), row.groups) << row.name;
}

TEST(CpuGroups, GroupsAreNumberedWithoutAGap) {
  const Groups groups = CpuGroups(CpuCount(), 8);
  ASSERT_EQ(groups.size(), CpuCount());
  std::map<uint32_t, size_t> sizes;
  for (const uint32_t group : groups) ++sizes[group];
  EXPECT_EQ(sizes.rbegin()->first + 1, sizes.size());
  for (const auto& [group, size] : sizes) EXPECT_LE(size, 8u) << group;
}

}  // namespace
}  // namespace nfswalk::rcu
