#include "nfsclient/mount/inode_numbers.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <unordered_set>

namespace nfswalk::mount {
namespace {

constexpr uint64_t kOther = uint64_t{1} << 63;

TEST(InodeNumbers, AreTheFileIdsOfTheRootsFileSystem) {
  for (const uint64_t root_fsid : {uint64_t{0}, uint64_t{5}, ~uint64_t{0}}) {
    const InodeNumbers numbers(root_fsid);
    for (const uint64_t fileid : {uint64_t{0}, uint64_t{1}, uint64_t{12'345}, kOther, ~kOther}) {
      EXPECT_EQ(numbers.Of(root_fsid, fileid), fileid);
    }
  }
}

TEST(InodeNumbers, NeverJoinTwoFiles) {
  constexpr uint64_t kFileids = 20'000;
  const InodeNumbers numbers(0);
  std::unordered_set<uint64_t> seen;
  // Fsids and file ids as servers have them: dense, and in the upper half of a word.
  for (const uint64_t fsid : {uint64_t{0}, uint64_t{1}, uint64_t{2}, uint64_t{152} << 32 | 152,
                              uint64_t{153} << 32 | 152, ~uint64_t{0}}) {
    for (uint64_t i = 1; i <= kFileids; ++i) {
      for (const uint64_t fileid : {i, i << 32}) {
        const uint64_t number = numbers.Of(fsid, fileid);
        EXPECT_TRUE(seen.insert(number).second) << fsid << " " << fileid;
        EXPECT_EQ(number >= kOther, fsid != 0) << fsid << " " << fileid;
      }
    }
  }
}

TEST(InodeNumbers, AreTheSameInEveryMountOfTheExport) {
  EXPECT_EQ(InodeNumbers(1).Of(2, 3), InodeNumbers(1).Of(2, 3));
  EXPECT_EQ(InodeNumbers(1).Of(2, 3), InodeNumbers(4).Of(2, 3));
}

}  // namespace
}  // namespace nfswalk::mount
