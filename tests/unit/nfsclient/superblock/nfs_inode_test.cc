// The identity of inodes (INODE-27).
#include "nfsclient/superblock/nfs_inode.h"

#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <memory>
#include <utility>

#include "access_cache/access_lru.h"
#include "nfsclient/icache/iget_family.h"
#include "rcu/keyed_change_count.h"

#ifndef NDEBUG
namespace nfswalk::nfs {
namespace {

class NfsInodeDeathTest : public testing::Test {
 protected:
  static constexpr uint64_t kFileid = 7;

  NfsInodeDeathTest() {
    GTEST_FLAG_SET(death_test_style, "threadsafe");
    auto created = icache::IgetFamily::Create({.policy = kPolicy}, operations_);
    EXPECT_TRUE(created.has_value());
    inodes_ = std::move(*created);
  }

  icache::InodeRef Fetch() {
    constexpr std::array<uint8_t, 4> kHandle{1, 2, 3, 4};
    const protocol::FileHandle handle(kHandle);
    FileIdentity identity(handle, kFileid, protocol::FileType::kRegular, operations_.bytes());
    auto found = inodes_->Fetch(kFileid, identity);
    EXPECT_TRUE(found.has_value());
    if (found->is_new) inodes_->UnlockNew(*found->inode);
    return std::move(found->inode);
  }

  static constexpr icache::InodePolicy kPolicy{};
  rcu::KeyedChangeCount drops_;
  access_cache::AccessLru access_lru_{100, drops_};
  DepartedInodes departed_;
  InodeOperations operations_{kPolicy, access_lru_, departed_};
  std::unique_ptr<icache::IgetFamily> inodes_;
};

// INODE-27.
TEST_F(NfsInodeDeathTest, AReferencedInodeDoesNotLeaveTheTable) {
  EXPECT_DEATH(
      {
        icache::InodeRef referenced = Fetch();
        inodes_->Unhash(*referenced);
        const icache::InodeRef second = Fetch();
        referenced = {};
      },
      "inode.hashed");
}

TEST_F(NfsInodeDeathTest, AStaleInodeMayHaveAFreshOneBesideIt) {
  icache::InodeRef stale = Fetch();
  stale->flags.store(icache::kStale);
  const icache::InodeRef fresh = Fetch();
  EXPECT_NE(fresh.get(), stale.get());
  stale = {};
  EXPECT_EQ(Fetch().get(), fresh.get());
}

}  // namespace
}  // namespace nfswalk::nfs
#endif
