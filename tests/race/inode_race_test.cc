// The policies that each of the inode cache's race tests runs over.
#include "tests/race/inode_race.h"

#include <gtest/gtest.h>

#include <vector>

#ifndef NDEBUG
namespace nfswalk::icache {
namespace {

std::vector<InodePolicy> PoliciesWhere(bool (*fits)(HashPolicy)) {
  std::vector<InodePolicy> all = AllInodePolicies();
  std::erase_if(all, [&](const InodePolicy& policy) { return !fits(policy.hash); });
  return all;
}
// Their buckets move when the table grows.
bool HasChainLocks(HashPolicy hash) { return hash != HashPolicy::kLfht; }
bool HasSharedTable(HashPolicy hash) { return hash != HashPolicy::kIndex; }

INSTANTIATE_TEST_SUITE_P(Policies, InodeRace, testing::ValuesIn(AllInodePolicies()),
                         InodePolicyTestName);
INSTANTIATE_TEST_SUITE_P(Policies, InodeRaceUnderRcu,
                         testing::ValuesIn(PoliciesWhere(&FirstLookupIsRcu)), InodePolicyTestName);
INSTANTIATE_TEST_SUITE_P(Policies, InodeRaceWithChainLocks,
                         testing::ValuesIn(PoliciesWhere(&HasChainLocks)), InodePolicyTestName);
INSTANTIATE_TEST_SUITE_P(Policies, InodeRaceWithBoth,
                         testing::ValuesIn(PoliciesWhere([](HashPolicy hash) {
                           return FirstLookupIsRcu(hash) && HasChainLocks(hash);
                         })),
                         InodePolicyTestName);
INSTANTIATE_TEST_SUITE_P(Policies, InodeRaceOfTwoSuperblocks,
                         testing::ValuesIn(PoliciesWhere(&HasSharedTable)), InodePolicyTestName);
// An index is iterated instead of the list.
INSTANTIATE_TEST_SUITE_P(Policies, InodeRaceOfLists,
                         testing::ValuesIn(PoliciesWhere(&HasSharedTable)), InodePolicyTestName);
INSTANTIATE_TEST_SUITE_P(Policies, InodeRaceDeathTest, testing::ValuesIn(AllInodePolicies()),
                         InodePolicyTestName);
// With a single list the second thread could only wait for the first.
INSTANTIATE_TEST_SUITE_P(Policies, InodeRaceOfLruShards,
                         testing::Values(InodePolicy{HashPolicy::kBitRcu, ListPolicy::kSharded,
                                                     LruPolicy::kSharded}),
                         InodePolicyTestName);

}  // namespace
}  // namespace nfswalk::icache
#endif
