#include "nfsclient/nfs4/state/open_owners.h"

#include <gtest/gtest.h>

#include <cstddef>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "nfsclient/nfs4/state/state_error.h"
#include "tests/fixtures/fake_server.h"
#include "tests/fixtures/libnfs_raw.h"

namespace nfswalk::protocol {
namespace {

const Credential kUser(1000, 100);
const Credential kOther(2000, 100);

// Nothing is sent.
class OpenOwnersTest : public testing::Test {
 protected:
  const std::unique_ptr<rpc::Caller> caller_ =
      std::move(rpc::Caller::Open({"127.0.0.1", UnusedPort(), 100003, 4}, {}).value());
  const OwnerNames names_;
  OpenOwners owners_{*caller_, names_, [] { return uint64_t{1}; }};
};

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

TEST_F(OpenOwnersTest, AnOwnerIsReusedByItsCredentialOnly) {
  OpenOwner owner = owners_.Take(kUser, 1);
  const std::string name = owner.name;
  owner.sequence = 5;
  owners_.Put(std::move(owner));
  EXPECT_NE(owners_.Take(kOther, 1).name, name);
  const OpenOwner again = owners_.Take(kUser, 1);
  EXPECT_EQ(again.name, name);
  EXPECT_EQ(again.sequence, 5u);
  EXPECT_NE(owners_.Take(kUser, 1).name, name);
}

TEST_F(OpenOwnersTest, AnOwnerOfAnEarlierClientIdOrAfterBadSeqidIsDropped) {
  std::set<std::string> names;
  names.insert(owners_.Take(kUser, 1).name);
  owners_.Put(owners_.Take(kUser, 1));
  names.insert(owners_.Take(kUser, 2).name);
  OpenOwner owner = owners_.Take(kUser, 2);
  names.insert(owner.name);
  owner.Executed(NFS4ERR_BAD_SEQID);
  owners_.Put(std::move(owner));
  names.insert(owners_.Take(kUser, 2).name);
  EXPECT_EQ(names.size(), 4u);
}

TEST_F(OpenOwnersTest, IdleOwnersAreBoundedAndTheOldestIsDropped) {
  std::vector<OpenOwner> owners;
  for (size_t i = 0; i <= OpenOwners::kIdleMax; ++i) owners.push_back(owners_.Take(kUser, 1));
  const std::string oldest = owners.front().name;
  for (OpenOwner& owner : owners) owners_.Put(std::move(owner));
  std::set<std::string> kept;
  for (size_t i = 0; i < OpenOwners::kIdleMax; ++i) kept.insert(owners_.Take(kUser, 1).name);
  EXPECT_FALSE(kept.contains(oldest));
  EXPECT_EQ(kept.size(), OpenOwners::kIdleMax);
}

TEST(StateError, ClassifiesStatus) {
  EXPECT_EQ(StateErrorOf(NFS4ERR_GRACE), StateError::kWait);
  EXPECT_EQ(StateErrorOf(NFS4ERR_OLD_STATEID), StateError::kState);
  EXPECT_EQ(StateErrorOf(NFS4ERR_ADMIN_REVOKED), StateError::kState);
  for (const int status : {NFS4ERR_EXPIRED, NFS4ERR_STALE_CLIENTID, NFS4ERR_STALE_STATEID}) {
    EXPECT_TRUE(ConcernsClient(StateErrorOf(status))) << status;
  }
  for (const int status : {NFS4_OK, NFS4ERR_ACCESS, NFS4ERR_OPENMODE, NFS4ERR_BAD_STATEID}) {
    EXPECT_FALSE(ConcernsClient(StateErrorOf(status))) << status;
  }
}

}  // namespace
}  // namespace nfswalk::protocol
