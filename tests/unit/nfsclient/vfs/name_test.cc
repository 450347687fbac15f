#include "nfsclient/vfs/name.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>

namespace nfswalk::vfs {
namespace {

using Block = std::array<uint64_t, 2>;

std::string_view BytesOf(const Block& block) {
  return {reinterpret_cast<const char*>(block.data()), sizeof block};
}

// No object is there: an address is all that a hash reads of a parent.
const Dentry* ParentAt(uintptr_t address) { return reinterpret_cast<const Dentry*>(address); }

uint64_t InverseOf(uint64_t odd) {
  uint64_t inverse = odd;  // of the lowest three bits; each step doubles them
  for (int i = 0; i < 5; ++i) inverse *= 2 - odd * inverse;
  return inverse;
}

bool MayBeInAName(uint64_t word) {
  const std::string_view bytes(reinterpret_cast<const char*>(&word), sizeof word);
  return std::ranges::none_of(bytes, [](char byte) { return byte == 0 || byte == '/'; });
}

// Two blocks whose words a sum of two products by known factors maps to the same state, for half of
// all states: the highest bit of the first product, and bit 34 of the second, which its rotation by
// 29 puts there.
std::array<Block, 2> TwinBlocks() {
  constexpr uint64_t kHighest = uint64_t{1} << 63;
  const uint64_t step = (uint64_t{1} << 34) * InverseOf(internal::kMultiplier1);
  const uint64_t word0 = LoadWord("abcdefgh");
  uint64_t word1 = LoadWord("ijklmnop");
  while (!MayBeInAName(word1) || !MayBeInAName(word1 + step)) word1 += 0x0101010101010101;
  return {Block{word0, word1}, Block{word0 ^ kHighest, word1 + step}};
}

TEST(NameHash, NamesOfTwinBlocksDoNotCollide) {
  constexpr int kBlocks = 15;
  constexpr size_t kNames = size_t{1} << kBlocks;
  const auto twins = TwinBlocks();
  for (uintptr_t parent = 1; parent <= 5; ++parent) {
    std::set<uint64_t> hashes;
    std::map<uint64_t, int> buckets;
    int longest = 0;
    for (size_t which = 0; which < kNames; ++which) {
      std::string text;
      for (int block = 0; block < kBlocks; ++block) text += BytesOf(twins[which >> block & 1]);
      const uint64_t hash = PaddedName(text, ParentAt(parent * 64)).name().hash;
      hashes.insert(hash);
      longest = std::max(longest, ++buckets[(hash >> 8) % kNames]);
    }
    EXPECT_EQ(hashes.size(), kNames);
    EXPECT_LT(longest, 16);
  }
}

TEST(NameHash, BlocksThatDifferInTwoBitsDoNotCollide) {
  constexpr int kBits = 128;
  const Block base{LoadWord("abcdefgh"), LoadWord("ijklmnop")};
  for (uint64_t salt = 1; salt <= 50; ++salt) {
    std::set<uint64_t> hashes{HashPath(BytesOf(base), salt)};
    size_t paths = 1;
    for (int first = 0; first < kBits; ++first) {
      for (int second = first; second < kBits; ++second) {
        Block other = base;
        other[first / 64] ^= uint64_t{1} << first % 64;
        if (second != first) other[second / 64] ^= uint64_t{1} << second % 64;
        hashes.insert(HashPath(BytesOf(other), salt));
        ++paths;
      }
    }
    EXPECT_EQ(hashes.size(), paths) << salt;
  }
}

}  // namespace
}  // namespace nfswalk::vfs
