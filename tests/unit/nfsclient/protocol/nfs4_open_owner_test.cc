#include "nfsclient/protocol/nfs4_open_owner.h"

#include <gtest/gtest.h>

#include <cstddef>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "nfsclient/protocol/nfs4_state_error.h"
#include "tests/unit/nfsclient/protocol/libnfs_raw.h"

namespace nfswalk::protocol {
namespace {

using sunrpc_auth::Credential;

const Credential kUser(1000, 100);
const Credential kOther(2000, 100);

// RFC 7530 9.1.7. WIRE-16.
TEST(OpenOwner, AllButEightErrorsAdvanceTheSequence) {
  const std::set<int> kept = {NFS4ERR_STALE_CLIENTID, NFS4ERR_STALE_STATEID, NFS4ERR_BAD_STATEID,
                              NFS4ERR_BAD_SEQID,      NFS4ERR_BADZDR,        NFS4ERR_RESOURCE,
                              NFS4ERR_NOFILEHANDLE,   NFS4ERR_MOVED};
  for (int status = 0; status <= NFS4ERR_CB_PATH_DOWN; ++status) {
    OpenOwner owner{.name = "o", .sequence = 7};
    owner.Executed(status);
    EXPECT_EQ(owner.sequence, kept.contains(status) ? 7u : 8u) << status;
  }
}

TEST(OpenOwner, TheSequenceWrapsToZero) {
  OpenOwner owner{.name = "o", .sequence = 0xffffffff};
  owner.Executed(NFS4_OK);
  EXPECT_EQ(owner.sequence, 0u);
}

TEST(OpenOwnerPool, AnOwnerIsReusedByItsCredentialOnly) {
  OpenOwnerPool pool;
  OpenOwner owner = pool.Take(kUser, 1);
  const std::string name = owner.name;
  owner.sequence = 5;
  pool.Put(std::move(owner));
  EXPECT_NE(pool.Take(kOther, 1).name, name);
  const OpenOwner again = pool.Take(kUser, 1);
  EXPECT_EQ(again.name, name);
  EXPECT_EQ(again.sequence, 5u);
  EXPECT_NE(pool.Take(kUser, 1).name, name);
}

TEST(OpenOwnerPool, AnOwnerOfAnEarlierClientIdOrAfterBadSeqidIsDropped) {
  OpenOwnerPool pool;
  std::set<std::string> names;
  names.insert(pool.Take(kUser, 1).name);
  pool.Put(pool.Take(kUser, 1));
  names.insert(pool.Take(kUser, 2).name);
  OpenOwner owner = pool.Take(kUser, 2);
  names.insert(owner.name);
  owner.Executed(NFS4ERR_BAD_SEQID);
  pool.Put(std::move(owner));
  names.insert(pool.Take(kUser, 2).name);
  EXPECT_EQ(names.size(), 4u);
}

TEST(OpenOwnerPool, IdleOwnersAreBoundedAndTheOldestIsDropped) {
  OpenOwnerPool pool;
  std::vector<OpenOwner> owners;
  for (size_t i = 0; i <= OpenOwnerPool::kIdleMax; ++i) owners.push_back(pool.Take(kUser, 1));
  const std::string oldest = owners.front().name;
  for (OpenOwner& owner : owners) pool.Put(std::move(owner));
  std::set<std::string> kept;
  for (size_t i = 0; i < OpenOwnerPool::kIdleMax; ++i) kept.insert(pool.Take(kUser, 1).name);
  EXPECT_FALSE(kept.contains(oldest));
  EXPECT_EQ(kept.size(), OpenOwnerPool::kIdleMax);
}

TEST(StateError, ClassifiesStatus) {
  EXPECT_EQ(StateErrorOf(NFS4ERR_GRACE), StateError::kWait);
  EXPECT_EQ(StateErrorOf(NFS4ERR_OLD_STATEID), StateError::kState);
  EXPECT_EQ(StateErrorOf(NFS4ERR_ADMIN_REVOKED), StateError::kRevoked);
  for (const int status : {NFS4ERR_EXPIRED, NFS4ERR_STALE_CLIENTID, NFS4ERR_STALE_STATEID}) {
    EXPECT_TRUE(ConcernsClient(StateErrorOf(status))) << status;
  }
  for (const int status : {NFS4_OK, NFS4ERR_ACCESS, NFS4ERR_OPENMODE, NFS4ERR_BAD_STATEID}) {
    EXPECT_FALSE(ConcernsClient(StateErrorOf(status))) << status;
  }
}

}  // namespace
}  // namespace nfswalk::protocol
