#include "nfsclient/icache/inode_policy.h"

#include <algorithm>
#include <array>
#include <bit>
#include <thread>

namespace nfswalk::icache {

namespace {

struct Row {
  std::string_view name, label;
};
constexpr std::array<Row, kHashPolicies> kHashRows = {{{"global", "H0"},
                                                       {"global_rcu", "H1"},
                                                       {"bit", "H2"},
                                                       {"bit_rcu", "H3"},
                                                       {"real_lock", "H4"},
                                                       {"array", "H5"},
                                                       {"array_rcu", "H6"},
                                                       {"lfht", "H7"},
                                                       {"index", "H8"}}};
constexpr std::array<Row, kListPolicies> kListRows = {
    {{"single", "L0"}, {"sharded", "L1"}, {"grouped", "L2"}, {"none", "L3"}}};
constexpr std::array<Row, kLruPolicies> kLruRows = {{{"single", "U0"}, {"sharded", "U1"}}};

template <class Policy>
std::expected<Policy, std::string> Parse(std::span<const Row> rows, std::string_view text) {
  std::string accepted;
  for (size_t i = 0; i < rows.size(); ++i) {
    if (text == rows[i].name || text == rows[i].label) return static_cast<Policy>(i);
    if (i > 0) accepted += ", ";
    accepted += rows[i].name;
  }
  return std::unexpected("must be one of " + accepted);
}

const Row& RowOf(HashPolicy policy) { return kHashRows[static_cast<size_t>(policy)]; }
const Row& RowOf(ListPolicy policy) { return kListRows[static_cast<size_t>(policy)]; }
const Row& RowOf(LruPolicy policy) { return kLruRows[static_cast<size_t>(policy)]; }

}  // namespace

std::string_view PolicyName(HashPolicy policy) { return RowOf(policy).name; }
std::string_view PolicyName(ListPolicy policy) { return RowOf(policy).name; }
std::string_view PolicyName(LruPolicy policy) { return RowOf(policy).name; }
std::string_view PolicyLabel(HashPolicy policy) { return RowOf(policy).label; }
std::string_view PolicyLabel(ListPolicy policy) { return RowOf(policy).label; }
std::string_view PolicyLabel(LruPolicy policy) { return RowOf(policy).label; }

std::string PolicyLabel(const InodePolicy& policy) {
  std::string label(PolicyLabel(policy.hash));
  label += '+';
  label += PolicyLabel(policy.list);
  label += '+';
  label += PolicyLabel(policy.lru);
  return label;
}

std::expected<HashPolicy, std::string> ParseHashPolicy(std::string_view text) {
  return Parse<HashPolicy>(kHashRows, text);
}
std::expected<ListPolicy, std::string> ParseListPolicy(std::string_view text) {
  return Parse<ListPolicy>(kListRows, text);
}
std::expected<LruPolicy, std::string> ParseLruPolicy(std::string_view text) {
  return Parse<LruPolicy>(kLruRows, text);
}

std::expected<InodePolicy, std::string> ParseInodePolicy(std::string_view text) {
  const size_t first = text.find('+');
  const size_t second = first == text.npos ? first : text.find('+', first + 1);
  if (second == text.npos) {
    return std::unexpected("must be a hash, a list and an LRU policy: H3+L1+U1");
  }
  const auto hash = ParseHashPolicy(text.substr(0, first));
  if (!hash) return std::unexpected("hash policy " + hash.error());
  const auto list = ParseListPolicy(text.substr(first + 1, second - first - 1));
  if (!list) return std::unexpected("list policy " + list.error());
  const auto lru = ParseLruPolicy(text.substr(second + 1));
  if (!lru) return std::unexpected("LRU policy " + lru.error());
  return InodePolicy{*hash, *list, *lru};
}

size_t ShardsForThisMachine() {
  return std::clamp<size_t>(std::bit_ceil(std::max(1u, std::thread::hardware_concurrency())), 4,
                            64);
}

}  // namespace nfswalk::icache
