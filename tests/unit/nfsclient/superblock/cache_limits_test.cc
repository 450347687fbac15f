// Limits of the caches from the memory that a process may use, over made-up /proc and cgroup trees.
#include "nfsclient/superblock/cache_limits.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <cstdint>
#include <string>

#include "nfsclient/memory/cgroup.h"
#include "tests/unit/nfsclient/memory/kernel_files.h"

namespace nfswalk::nfs {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr uint64_t kMiB = uint64_t{1} << 20;
class CacheLimitsTest : public ::testing::Test, protected KernelFiles {
 protected:
  void ExpectCgroupBytes(uint64_t bytes) const {
    const MemoryAllowance allowed = AllowedMemory(root_);
    EXPECT_EQ(allowed.bytes, bytes);
    EXPECT_EQ(allowed.source, LimitSource::kCgroup);
  }
  void ExpectNoCgroup() const {
    EXPECT_EQ(AllowedMemory(root_).bytes, unlimited_.bytes);
    EXPECT_NE(AllowedMemory(root_).source, LimitSource::kCgroup);
  }

  const MemoryAllowance unlimited_ = AllowedMemory("/nonexistent");
};

TEST_F(CacheLimitsTest, LeastLimitOfTheCgroupAndThoseAboveItCounts) {
  EnterCgroup("/a/b");
  Write("/sys/fs/cgroup/a/b/memory.max", "max\n");
  Write("/sys/fs/cgroup/a/b/memory.high", "max\n");
  ExpectNoCgroup();
  Write("/sys/fs/cgroup/a/b/memory.max", std::to_string(512 * kMiB) + "\n");
  ExpectCgroupBytes(512 * kMiB);
  Write("/sys/fs/cgroup/a/b/memory.high", std::to_string(400 * kMiB) + "\n");
  ExpectCgroupBytes(400 * kMiB);
  Write("/sys/fs/cgroup/a/memory.max", std::to_string(300 * kMiB) + "\n");
  ExpectCgroupBytes(300 * kMiB);
  Write("/sys/fs/cgroup/a/memory.max", std::to_string(600 * kMiB) + "\n");
  ExpectCgroupBytes(400 * kMiB);
  Write("/sys/fs/cgroup/memory.max", std::to_string(200 * kMiB) + "\n");
  ExpectCgroupBytes(200 * kMiB);
}

TEST_F(CacheLimitsTest, MoreThanTheMachineHasLimitsNothing) {
  EnterCgroup("/a");
  Write("/sys/fs/cgroup/a/memory.max", "18446744073709551615\n");
  ExpectNoCgroup();
}

TEST_F(CacheLimitsTest, CgroupsAreFoundFromTheirOwnUpwards) {
  EnterCgroup("/a/b");
  const std::string top = root_ + "/sys/fs/cgroup";
  EXPECT_THAT(OwnCgroups(root_), ElementsAre(top + "/a/b", top + "/a", top));
  EnterCgroup("/");
  EXPECT_THAT(OwnCgroups(root_), ElementsAre(top));
}

TEST_F(CacheLimitsTest, OnlyAMountThatShowsTheCgroupIsRead) {
  EnterCgroup("/docker/abc/x",
              "30 1 0:25 /docker/ab /other rw - cgroup2 cgroup2 rw\n"
              "31 1 0:25 /docker/abc /my\\040cgroup rw - cgroup2 cgroup2 rw\n");
  EXPECT_THAT(OwnCgroups(root_), ElementsAre(root_ + "/my cgroup/x", root_ + "/my cgroup"));
  EnterCgroup("/docker", "30 1 0:25 /docker/ab /other rw - cgroup2 cgroup2 rw\n");
  EXPECT_THAT(OwnCgroups(root_), IsEmpty());
  // Version 1, and a cgroup outside of the namespace.
  EnterCgroup("/a", "30 1 0:25 / /sys/fs/cgroup rw - cgroup cgroup rw,memory\n");
  EXPECT_THAT(OwnCgroups(root_), IsEmpty());
  EnterCgroup("/../a");
  EXPECT_THAT(OwnCgroups(root_), IsEmpty());
}

TEST_F(CacheLimitsTest, UnparsedLimitsAreIgnored) {
  ExpectNoCgroup();
  EnterCgroup("/a", "");
  ExpectNoCgroup();
  EnterCgroup("/a", "nonsense\n- cgroup2\n1 2 3 / /x - \n");
  ExpectNoCgroup();
  EnterCgroup("/a");
  for (const char* text : {"", "\n", "-1\n", "12k\n", " 5\n", "99999999999999999999999\n"}) {
    Write("/sys/fs/cgroup/a/memory.max", text);
    ExpectNoCgroup();
  }
}

TEST_F(CacheLimitsTest, ResourceLimitsCount) {
  rlimit before{};
  ASSERT_EQ(getrlimit(RLIMIT_DATA, &before), 0);
  constexpr uint64_t kLimit = 1 << 30;
  if (unlimited_.bytes <= kLimit) GTEST_SKIP() << "less than 1 GiB may be used as it is";
  rlimit lowered = before;
  lowered.rlim_cur = kLimit;
  ASSERT_EQ(setrlimit(RLIMIT_DATA, &lowered), 0);
  const MemoryAllowance allowed = AllowedMemory(root_);
  ASSERT_EQ(setrlimit(RLIMIT_DATA, &before), 0);
  EXPECT_EQ(allowed.bytes, kLimit);
  EXPECT_EQ(allowed.source, LimitSource::kRlimit);
}

// INODE-25.
TEST_F(CacheLimitsTest, AQuarterOfTheMemoryWithinBounds) {
  EXPECT_EQ(ObjectsIn(2000 * kMiB), kMiB);  // at 500 bytes each
  EXPECT_EQ(ObjectsIn(0), kLeastObjects);
  EXPECT_EQ(ObjectsIn(UINT64_MAX), 16'000'000u);
}

TEST_F(CacheLimitsTest, OptionsPrecedeTheMemory) {
  EnterCgroup("/a");
  Write("/sys/fs/cgroup/a/memory.high", std::to_string(200 * kMiB) + "\n");
  const size_t from_memory = ObjectsIn(200 * kMiB);
  MountOptions options;
  const auto expect = [&](size_t dentries, size_t inodes, size_t access_entries,
                          LimitSource source) {
    const CacheLimits limits = LimitsOf(options, root_);
    EXPECT_EQ(limits.dentries, dentries);
    EXPECT_EQ(limits.inodes, inodes);
    EXPECT_EQ(limits.access_entries, access_entries);
    EXPECT_EQ(limits.source, source);
  };
  expect(from_memory, from_memory, from_memory, LimitSource::kCgroup);
  options.dentries_max = 5;
  expect(5, from_memory, from_memory, LimitSource::kCgroup);
  options.inodes_max = 6;
  expect(5, 6, from_memory, LimitSource::kCgroup);
  options.access_entries_max = 7;
  expect(5, 6, 7, LimitSource::kOptions);
}

TEST_F(CacheLimitsTest, DirtyBytesAreTheOptionOrASixteenthOfTheMemoryWithinBounds) {
  EnterCgroup("/a");
  Write("/sys/fs/cgroup/a/memory.high", std::to_string(200 * kMiB) + "\n");
  MountOptions options;
  EXPECT_EQ(LimitsOf(options, root_).dirty_bytes, 200 * kMiB / 16);
  Write("/sys/fs/cgroup/a/memory.high", std::to_string(20 * kMiB) + "\n");
  EXPECT_EQ(LimitsOf(options, root_).dirty_bytes, 4 * kMiB);
  for (const size_t bytes : {size_t{4096}, size_t{8} << 30}) {
    options.dirty_bytes_max = bytes;
    EXPECT_EQ(LimitsOf(options, root_).dirty_bytes, bytes);
  }
}

}  // namespace
}  // namespace nfswalk::nfs
