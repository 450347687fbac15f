#include "nfsclient/icache/inode_policy.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <bit>
#include <cstdint>
#include <limits>
#include <memory>
#include <new>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "nfsclient/icache/iget_family.h"
#include "tests/fixtures/inode_caches.h"

namespace nfswalk::icache {
namespace {

std::vector<HashPolicy> AllHashPolicies() {
  std::vector<HashPolicy> all;
  for (size_t i = 0; i < kHashPolicies; ++i) all.push_back(static_cast<HashPolicy>(i));
  return all;
}

TEST(InodePolicyTest, EveryNameAndLabelIsReadBackAsItsPolicy) {
  std::set<std::string_view> words;
  for (const HashPolicy policy : AllHashPolicies()) {
    EXPECT_EQ(ParseHashPolicy(PolicyName(policy)), policy);
    EXPECT_EQ(ParseHashPolicy(PolicyLabel(policy)), policy);
    EXPECT_EQ(PolicyLabel(policy), "H" + std::to_string(static_cast<size_t>(policy)));
    words.insert({PolicyName(policy), PolicyLabel(policy)});
  }
  EXPECT_EQ(words.size(), 2 * kHashPolicies) << "no word is ambiguous";
  for (size_t i = 0; i < kListPolicies; ++i) {
    const auto policy = static_cast<ListPolicy>(i);
    EXPECT_EQ(ParseListPolicy(PolicyName(policy)), policy);
    EXPECT_EQ(ParseListPolicy(PolicyLabel(policy)), policy);
    EXPECT_EQ(PolicyLabel(policy), "L" + std::to_string(i));
  }
  for (size_t i = 0; i < kLruPolicies; ++i) {
    const auto policy = static_cast<LruPolicy>(i);
    EXPECT_EQ(ParseLruPolicy(PolicyName(policy)), policy);
    EXPECT_EQ(ParseLruPolicy(PolicyLabel(policy)), policy);
    EXPECT_EQ(PolicyLabel(policy), "U" + std::to_string(i));
  }
}

TEST(InodePolicyTest, TheNamesAreThoseOfTheDesign) {
  EXPECT_EQ(PolicyName(HashPolicy::kGlobal), "global");
  EXPECT_EQ(PolicyName(HashPolicy::kBitRcu), "bit_rcu");
  EXPECT_EQ(PolicyName(HashPolicy::kIndex), "index");
  EXPECT_EQ(PolicyLabel(ListPolicy::kSingle), "L0");
  EXPECT_EQ(PolicyLabel(ListPolicy::kSharded), "L1");
  EXPECT_EQ(PolicyLabel(ListPolicy::kGrouped), "L2");
  EXPECT_EQ(PolicyLabel(ListPolicy::kNone), "L3");
  EXPECT_EQ(PolicyLabel(LruPolicy::kSharded), "U1");
  EXPECT_EQ(PolicyLabel({HashPolicy::kArrayRcu, ListPolicy::kNone, LruPolicy::kSingle}),
            "H6+L3+U0");
}

TEST(InodePolicyTest, AnUnknownWordIsAnsweredWithAllThatAreKnown) {
  for (const std::string_view text : {"", "Global", "H9", "bit ", "h3"}) {
    const auto parsed = ParseHashPolicy(text);
    ASSERT_FALSE(parsed) << text;
    for (const HashPolicy policy : AllHashPolicies()) {
      EXPECT_NE(parsed.error().find(PolicyName(policy)), std::string::npos) << parsed.error();
    }
  }
  EXPECT_EQ(ParseListPolicy("L4").error(), "must be one of single, sharded, grouped, none");
  EXPECT_EQ(ParseLruPolicy("none").error(), "must be one of single, sharded");
}

TEST(InodePolicyTest, ShardsAreAPowerOfTwoAndAtLeastOneAProcessor) {
  EXPECT_TRUE(std::has_single_bit(ShardsForThisMachine()));
  EXPECT_GE(ShardsForThisMachine(), 4u);
  EXPECT_LE(ShardsForThisMachine(), 64u);
}

TEST(InodePolicyTest, TheFirstLookupIsUnderRcuForHalfOfThePolicies) {
  std::string labels;
  for (const HashPolicy policy : AllHashPolicies()) {
    if (FirstLookupIsRcu(policy)) labels += PolicyLabel(policy);
  }
  EXPECT_EQ(labels, "H1H3H6H7H8");
}

TEST(InodePolicyTest, AWholePolicyIsReadFromLabelsOrNames) {
  for (const InodePolicy& policy : AllInodePolicies()) {
    EXPECT_EQ(ParseInodePolicy(PolicyLabel(policy)), policy);
  }
  EXPECT_EQ(ParseInodePolicy("bit_rcu+sharded+single"),
            (InodePolicy{HashPolicy::kBitRcu, ListPolicy::kSharded, LruPolicy::kSingle}));
}

TEST(InodePolicyTest, ErrorNamesTheWrongPart) {
  const auto error_of = [](std::string_view text) { return ParseInodePolicy(text).error(); };
  EXPECT_EQ(error_of("H3"), "must be a hash, a list and an LRU policy: H3+L1+U1");
  EXPECT_EQ(error_of("H3+L1"), "must be a hash, a list and an LRU policy: H3+L1+U1");
  EXPECT_TRUE(error_of("H9+L1+U1").starts_with("hash policy must be one of global, "));
  EXPECT_TRUE(error_of("H3+L4+U1").starts_with("list policy must be one of single, "));
  EXPECT_TRUE(error_of("H3+L1+U1+").starts_with("LRU policy must be one of single, "));
}

enum class Index : uint8_t { kNone, kKept };

// The reason why Create() refuses the options, or "". `index` selects a file system with an index
// of its own or without.
std::string RefusalOf(const InodeCacheOptions& options, Index index) {
  CountingOperations operations(
      {.policy = {.hash = index == Index::kKept ? HashPolicy::kIndex : HashPolicy::kGlobal}});
  const auto created = IgetFamily::Create(options, operations);
  return created ? "" : created.error();
}

// With an index if the hash is one, as the client's mounts have it.
TEST(InodeCacheCreateTest, AcceptsExactlyThePoliciesThatTestsRun) {
  std::vector<InodePolicy> accepted = AllInodePolicyCombinations();
  EXPECT_EQ(accepted.size(), 9u * 4 * 2);
  std::erase_if(accepted, [](const InodePolicy& policy) {
    const Index index = policy.hash == HashPolicy::kIndex ? Index::kKept : Index::kNone;
    return !RefusalOf({.policy = policy}, index).empty();
  });
  EXPECT_EQ(accepted, AllInodePolicies());
  EXPECT_EQ(accepted.size(), 9u * 3 * 2 + 2);
  EXPECT_EQ(RefusalOf({.policy = {HashPolicy::kGlobal, ListPolicy::kNone}}, Index::kKept), "");
}

TEST(InodeCacheCreateTest, RefusesPoliciesWithTheReason) {
  const uint64_t memory_holds = static_cast<uint64_t>(sysconf(_SC_PHYS_PAGES)) *
                                static_cast<uint64_t>(sysconf(_SC_PAGESIZE)) / sizeof(Inode);
  const struct {
    InodeCacheOptions options;
    std::string refusal;
  } rows[] = {
      {{.policy = {.hash = HashPolicy::kIndex}},
       "inode_hash=index: this file system keeps no index of its own; use inode_hash=bit_rcu"},
      {{.policy = {.list = ListPolicy::kNone}},
       "inode_list=none: this file system cannot iterate its inodes without a list; use "
       "inode_list=sharded or inode_hash=index"},
      {{.inodes_max = 0}, "inodes=0: the cache must hold at least one inode"},
      {{.inodes_max = 1}, ""},
      {{.inodes_max = memory_holds}, ""},
      {{.inodes_max = memory_holds + 1},
       "inodes=" + std::to_string(memory_holds + 1) +
           ": more than the memory of this machine holds, which is " +
           std::to_string(memory_holds)},
      {{.chain_load = 0}, "chain load 0: must be 1 to 64"},
      {{.chain_load = 1}, ""},
      {{.chain_load = 64}, ""},
      {{.chain_load = 65}, "chain load 65: must be 1 to 64"},
  };
  for (const auto& row : rows) EXPECT_EQ(RefusalOf(row.options, Index::kNone), row.refusal);
  EXPECT_TRUE(RefusalOf({.inodes_max = std::numeric_limits<size_t>::max()}, Index::kNone)
                  .starts_with("inodes=18446744073709551615: more than"));
}

TEST(InodeCacheCreateTest, ATableBeyondMemoryIsRefused) {
  EXPECT_THROW(RefusalOf({.initial_buckets = size_t{1} << 50}, Index::kNone), std::bad_alloc);
}

TEST(InodeCacheCreateTest, ATableIsSharedAmongSuperblocksOfOneHashPolicyButAnIndexIsNot) {
  const auto refusal_of = [](HashPolicy hash, HashPolicy shared) {
    InodeCaches caches(InodePolicy{.hash = shared});
    return RefusalOf({.policy = {.hash = hash}, .share_table_with = caches.cache.get()},
                     hash == HashPolicy::kIndex ? Index::kKept : Index::kNone);
  };
  EXPECT_EQ(refusal_of(HashPolicy::kGlobal, HashPolicy::kGlobal), "");
  EXPECT_EQ(refusal_of(HashPolicy::kGlobalRcu, HashPolicy::kGlobal),
            "inode_hash=global_rcu: cannot share the table of a superblock with "
            "inode_hash=global");
  EXPECT_EQ(refusal_of(HashPolicy::kIndex, HashPolicy::kGlobal),
            "inode_hash=index: cannot share the table of a superblock with inode_hash=global");
  EXPECT_EQ(refusal_of(HashPolicy::kIndex, HashPolicy::kIndex),
            "inode_hash=index: cannot share the table of a superblock with inode_hash=index");
}

TEST(InodeCacheCreateTest, ASharedTableOutlivesItsFirstOwner) {
  auto first = std::make_unique<InodeCaches>(InodePolicy{.hash = HashPolicy::kBit});
  CountingOperations operations(InodeCacheOptions{});
  const auto second = *IgetFamily::Create(
      {.policy = {.hash = HashPolicy::kBit}, .share_table_with = first->cache.get()}, operations);
  second->UnlockNew(*second->Iget(7)->inode);
  first = nullptr;
  EXPECT_TRUE(second->Ilookup(7));
}

}  // namespace
}  // namespace nfswalk::icache
