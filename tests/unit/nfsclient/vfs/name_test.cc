#include "nfsclient/vfs/name.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <set>
#include <string>
#include <string_view>
#include <vector>

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
  constexpr uint64_t kFactor = 0xD6E8FEB86659FD93;
  const uint64_t step = (uint64_t{1} << 34) * InverseOf(kFactor);
  const uint64_t word0 = LoadWord("abcdefgh");
  uint64_t word1 = LoadWord("ijklmnop");
  while (!MayBeInAName(word1) || !MayBeInAName(word1 + step)) word1 += 0x0101010101010101;
  return {Block{word0, word1}, Block{word0 ^ kHighest, word1 + step}};
}

// Expects that `names` have as many hashes, and spread over the buckets of a table, by the lowest
// bits above the length and by the highest ones, as by chance: one in 10^9 tables has a longer
// chain.
void ExpectSpread(const std::vector<std::string>& names) {
  constexpr int kLongest = 16;
  constexpr int kBucketBits = 15;
  for (uintptr_t parent = 1; parent <= 5; ++parent) {
    std::vector<uint64_t> hashes;
    std::vector<int> low(1 << kBucketBits), high(1 << kBucketBits);
    int longest = 0;
    for (const std::string& text : names) {
      const uint64_t hash = PaddedName(text, ParentAt(parent * 64)).name().hash;
      hashes.push_back(hash);
      longest = std::max({longest, ++low[(hash >> 8) % low.size()],
                          ++high[hash >> (64 - kBucketBits)]});
    }
    std::ranges::sort(hashes);
    EXPECT_EQ(std::ranges::adjacent_find(hashes), hashes.end());
    EXPECT_LT(longest, kLongest) << names.front();
  }
}

constexpr size_t kNames = size_t{1} << 15;

TEST(NameHash, NamesOfTwinBlocksDoNotCollide) {
  const auto twins = TwinBlocks();
  std::vector<std::string> names;
  for (size_t which = 0; which < kNames; ++which) {
    std::string& name = names.emplace_back();
    for (int block = 0; block < 15; ++block) name += BytesOf(twins[which >> block & 1]);
  }
  ExpectSpread(names);
}

TEST(NameHash, NamesThatCountSpread) {
  for (const size_t before : {0, 7, 16, 240}) {
    for (const size_t behind : {0, 8}) {
      std::vector<std::string> names;
      for (size_t i = 0; i < kNames; ++i) {
        names.push_back(std::string(before, 'f') + std::to_string(i) + std::string(behind, 'o'));
      }
      ExpectSpread(names);
    }
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
