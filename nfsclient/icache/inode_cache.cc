// Puts an inode cache together out of the policies that were chosen, or says why they do not fit.
#include <unistd.h>

#include <utility>

#include "nfsclient/icache/iget_family_over.h"
#include "nfsclient/icache/inode_index.h"

namespace nfswalk::icache {

namespace {

using Created = std::expected<std::unique_ptr<IgetFamily>, std::string>;

std::string Quoted(std::string_view option, std::string_view value) {
  std::string text(option);
  text += '=';
  text += value;
  return text;
}

// Empty if the options can be met.
std::string Refusal(const InodeCacheOptions& options, const InodeOperations& operations) {
  const std::string max = std::to_string(options.inodes_max);
  if (options.inodes_max == 0) return "inodes=0: the cache must hold at least one inode";
  const auto memory_bytes =
      static_cast<uint64_t>(sysconf(_SC_PHYS_PAGES)) * static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
  if (options.inodes_max > memory_bytes / sizeof(Inode)) {
    return "inodes=" + max + ": more than the memory of this machine holds, which is " +
           std::to_string(memory_bytes / sizeof(Inode));
  }
  if (options.chain_load < 1 || options.chain_load > 64) {
    return "chain load " + std::to_string(options.chain_load) + ": must be 1 to 64";
  }
  if (options.policy.list == ListPolicy::kNone && !operations.can_iterate()) {
    return Quoted("inode_list", PolicyName(options.policy.list)) +
           ": this file system cannot iterate its inodes without a list; use inode_list=" +
           std::string(PolicyName(ListPolicy::kSharded)) +
           " or inode_hash=" + std::string(PolicyName(HashPolicy::kIndex));
  }
  if (options.share_table_with == nullptr) return {};
  const HashPolicy shared = options.share_table_with->policy().hash;
  if (options.policy.hash == HashPolicy::kIndex || options.policy.hash != shared) {
    return Quoted("inode_hash", PolicyName(options.policy.hash)) +
           ": cannot share the table of a superblock with inode_hash=" +
           std::string(PolicyName(shared));
  }
  return {};
}

template <class Table, class... TableArguments>
Created Make(const InodeCacheOptions& options, InodeOperations& operations,
             TableArguments... table_arguments) {
  std::shared_ptr<Table> table;
  if (options.share_table_with != nullptr) {
    table = static_cast<IgetFamilyOver<Table>*>(options.share_table_with)->table();
  } else {
    table = std::make_shared<Table>(options.initial_buckets, table_arguments...);
  }
  return std::make_unique<IgetFamilyOver<Table>>(options, operations, std::move(table));
}

Created MakeOverIndex(const InodeCacheOptions& options, InodeOperations& operations) {
  std::shared_ptr<InodeIndex> index = operations.index();
  if (index == nullptr) {
    return std::unexpected(Quoted("inode_hash", PolicyName(HashPolicy::kIndex)) +
                           ": this file system keeps no index of its own; use inode_hash=" +
                           std::string(PolicyName(HashPolicy::kBitRcu)));
  }
  return std::make_unique<IgetFamilyOver<InodeIndex>>(options, operations, std::move(index));
}

Created MakeOverPolicy(const InodeCacheOptions& options, InodeOperations& operations) {
  const size_t load = options.chain_load;
  switch (options.policy.hash) {
    case HashPolicy::kGlobal:
    case HashPolicy::kGlobalRcu:
      return Make<StripedInodeTable>(options, operations, load, size_t{1});
    case HashPolicy::kArray:
    case HashPolicy::kArrayRcu:
      return Make<StripedInodeTable>(options, operations, load, kArrayLocks);
    case HashPolicy::kBit:
    case HashPolicy::kBitRcu:
      return Make<BitLockInodeTable>(options, operations, load);
    case HashPolicy::kRealLock:
      return Make<RealLockInodeTable>(options, operations, load);
    case HashPolicy::kLfht:
      return Make<LfhtInodeTable>(options, operations);
    case HashPolicy::kIndex:
      return MakeOverIndex(options, operations);
  }
  __builtin_unreachable();
}

}  // namespace

Created IgetFamily::Create(const InodeCacheOptions& options, InodeOperations& operations) {
  if (std::string refusal = Refusal(options, operations); !refusal.empty()) {
    return std::unexpected(std::move(refusal));
  }
  return MakeOverPolicy(options, operations);
}

std::expected<std::unique_ptr<InodeCache>, std::string> InodeCache::Create(
    const InodeCacheOptions& options, InodeOperations& operations) {
  return IgetFamily::Create(options, operations);
}

}  // namespace nfswalk::icache
