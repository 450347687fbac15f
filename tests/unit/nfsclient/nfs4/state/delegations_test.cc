// Tests which delegations are held, what ends them, and when more are asked for, without a server:
// none is returned.
#include "nfsclient/nfs4/state/delegations.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "tests/fixtures/libnfs_raw.h"

namespace nfswalk::protocol {
namespace {

class HeldDelegationsTest : public testing::Test {
 protected:
  HeldDelegationsTest() { delegations_->Stop(); }

  static DelegationGrant GrantOf(uint32_t number, bool of_directory = false) {
    DelegationGrant grant;
    grant.of_directory = of_directory;
    grant.state.other.fill(static_cast<char>(number >> 8));
    grant.state.other[0] = static_cast<char>(number);
    return grant;
  }
  std::unique_ptr<Delegation> Take(uint32_t number) { return Take(number, delegations_->epoch()); }
  std::unique_ptr<Delegation> Take(uint32_t number, uint64_t epoch) {
    return delegations_->Take(GrantOf(number), epoch, /*generation=*/1, FileHandle(), kUser_);
  }
  std::unique_ptr<Delegation> TakeDirectory(uint32_t number) {
    return delegations_->Take(GrantOf(number, true), delegations_->epoch(), 1, FileHandle(),
                              kUser_);
  }
  uint32_t Recall(uint32_t number) {
    return delegations_->Recall(GrantOf(number).state, FileHandle());
  }
  // Has the delegation note its number when it ends.
  bool Watch(Delegation& delegation, uint32_t number, std::function<bool()> was_used = nullptr) {
    return delegation.Watch([this, number] { ended_.push_back(number); }, std::move(was_used));
  }
  uint64_t held() { return delegations_->stats().held; }

  const Credential kUser_{1000, 100};
  std::unique_ptr<rpc::Caller> caller_ =
      *rpc::Caller::Open(rpc::Endpoint{"127.0.0.1", 1, 1, 1}, {});
  const std::shared_ptr<Delegations> delegations_ = std::make_shared<Delegations>(
      *caller_, [] { return uint64_t{1}; }, [this] { ++left_; });
  std::vector<uint32_t> ended_;
  int left_ = 0;  // to be returned
};

TEST_F(HeldDelegationsTest, ARecallEndsOne) {
  const auto one = Take(1), other = Take(2);
  EXPECT_TRUE(Watch(*one, 1));
  EXPECT_TRUE(Watch(*other, 2));
  EXPECT_EQ(Recall(1), NFS4_OK);
  EXPECT_EQ(Recall(1), NFS4_OK) << "it is being returned";
  EXPECT_EQ(ended_, std::vector<uint32_t>{1});
  EXPECT_FALSE(Watch(*one, 1));
  EXPECT_EQ(held(), 2u);
}

TEST_F(HeldDelegationsTest, OneThatIsNotWatchedYetHasEnded) {
  const auto one = Take(1);
  EXPECT_EQ(Recall(1), NFS4_OK);
  EXPECT_FALSE(Watch(*one, 1));
  EXPECT_TRUE(ended_.empty());
}

// DELEG-4.
TEST_F(HeldDelegationsTest, EarlyRecallsAreKeptInMindUpToALimit) {
  for (uint32_t number = 0; number <= Delegations::kEarlyMax; ++number) {
    EXPECT_EQ(Recall(number), NFS4ERR_BAD_STATEID);
  }
  EXPECT_EQ(left_, 0);
  EXPECT_TRUE(Watch(*Take(0), 0)) << "forgotten";
  EXPECT_FALSE(Watch(*Take(1), 1));
  EXPECT_TRUE(Watch(*Take(1), 1)) << "it was of the one before";
  EXPECT_FALSE(Watch(*Take(Delegations::kEarlyMax), 0));
}

TEST_F(HeldDelegationsTest, OneThatIsUnknownTheSecondTimeIsReturned) {
  EXPECT_EQ(Recall(1), NFS4ERR_BAD_STATEID);
  EXPECT_EQ(Recall(1), NFS4ERR_BAD_STATEID);
  EXPECT_EQ(left_, 1);
  EXPECT_FALSE(Watch(*Take(1), 1));
}

TEST_F(HeldDelegationsTest, OneThatIsGrantedTwiceIsHeldOnce) {
  const auto one = Take(1);
  EXPECT_EQ(Take(1), nullptr);
  EXPECT_EQ(held(), 1u);
  EXPECT_TRUE(Watch(*one, 1));
}

// DELEG-5.
TEST_F(HeldDelegationsTest, OneOfAnEarlierEpochHasEnded) {
  const uint64_t epoch = delegations_->epoch();
  const auto one = Take(1);
  EXPECT_TRUE(Watch(*one, 1));
  delegations_->EndAll();
  EXPECT_EQ(ended_, std::vector<uint32_t>{1});
  EXPECT_FALSE(Watch(*Take(2, epoch), 2));
  EXPECT_TRUE(Watch(*Take(3), 3));
}

TEST_F(HeldDelegationsTest, TheOldestEndWhereTheServerWantsSome) {
  std::vector<std::unique_ptr<Delegation>> all;
  for (uint32_t number = 0; number < 5; ++number) {
    all.push_back(Take(number));
    EXPECT_TRUE(Watch(*all.back(), number));
  }
  all.erase(all.begin());
  delegations_->RecallAny(4, /*of_files=*/true, /*of_directories=*/false);
  EXPECT_TRUE(ended_.empty());
  delegations_->RecallAny(2, /*of_files=*/true, /*of_directories=*/false);
  EXPECT_EQ(ended_, (std::vector<uint32_t>{1, 2}));
  delegations_->RecallAny(0, /*of_files=*/true, /*of_directories=*/false);
  EXPECT_EQ(ended_, (std::vector<uint32_t>{1, 2, 3, 4}));
}

TEST_F(HeldDelegationsTest, TheOldestOfAKindEndWhereTheServerWantsSomeOfIt) {
  std::vector<std::unique_ptr<Delegation>> all;
  for (uint32_t number = 0; number < 6; ++number) {
    all.push_back(number % 2 == 0 ? Take(number) : TakeDirectory(number));
    EXPECT_TRUE(Watch(*all.back(), number));
  }
  delegations_->RecallAny(0, /*of_files=*/false, /*of_directories=*/false);
  EXPECT_TRUE(ended_.empty());
  delegations_->RecallAny(1, /*of_files=*/false, /*of_directories=*/true);
  EXPECT_EQ(ended_, (std::vector<uint32_t>{1, 3}));
  delegations_->RecallAny(2, /*of_files=*/true, /*of_directories=*/true);
  EXPECT_EQ(ended_, (std::vector<uint32_t>{1, 3, 0, 2}));
  delegations_->RecallAny(0, /*of_files=*/true, /*of_directories=*/false);
  EXPECT_EQ(ended_, (std::vector<uint32_t>{1, 3, 0, 2, 4}));
}

// DELEG-7.
TEST_F(HeldDelegationsTest, ItsHolderMayKnowWhetherItIsIdle) {
  const auto directory = TakeDirectory(1);
  bool was_used = true;
  EXPECT_TRUE(Watch(*directory, 1, [&] { return was_used; }));
  for (int periods = 0; periods < 5; ++periods) delegations_->EndIdle();
  EXPECT_TRUE(ended_.empty());
  was_used = false;
  delegations_->EndIdle();
  EXPECT_EQ(ended_, std::vector<uint32_t>{1});
}

TEST_F(HeldDelegationsTest, DirectoriesLeaveRoomForFiles) {
  std::vector<std::unique_ptr<Delegation>> all;
  for (uint32_t number = 0; number < Delegations::kDirectoriesMax; ++number) {
    EXPECT_TRUE(delegations_->WantsDirectory());
    all.push_back(TakeDirectory(number));
  }
  EXPECT_FALSE(delegations_->WantsDirectory());
  EXPECT_TRUE(delegations_->Wants(AskDelegation::kIfFewAreUnused));
  all.pop_back();
  EXPECT_TRUE(delegations_->WantsDirectory());
}

// DELEG-6.
TEST_F(HeldDelegationsTest, OneThatIsOfNoUseForTwoPeriodsEnds) {
  const auto idle = Take(1), used = Take(2);
  EXPECT_TRUE(Watch(*idle, 1));
  EXPECT_TRUE(Watch(*used, 2));
  delegations_->EndIdle();
  used->NoteUsed();
  delegations_->EndIdle();
  EXPECT_EQ(ended_, std::vector<uint32_t>{1});
  delegations_->EndIdle();
  delegations_->EndIdle();
  EXPECT_EQ(ended_, (std::vector<uint32_t>{1, 2}));
}

TEST_F(HeldDelegationsTest, NoMoreAreAskedForThanAreOfUse) {
  std::vector<std::unique_ptr<Delegation>> all;
  const auto take = [&](size_t count) {
    while (all.size() < count) all.push_back(Take(static_cast<uint32_t>(all.size())));
  };
  EXPECT_FALSE(delegations_->Wants(AskDelegation::kNo));
  take(Delegations::kUnusedMax - 1);
  EXPECT_TRUE(delegations_->Wants(AskDelegation::kIfFewAreUnused));
  take(Delegations::kUnusedMax);
  EXPECT_FALSE(delegations_->Wants(AskDelegation::kIfFewAreUnused));
  EXPECT_TRUE(delegations_->Wants(AskDelegation::kYes));
  all.front()->NoteUsed();
  all.front()->NoteUsed();
  EXPECT_TRUE(delegations_->Wants(AskDelegation::kIfFewAreUnused));
  all.back() = nullptr;
  all.front() = nullptr;
  EXPECT_TRUE(delegations_->Wants(AskDelegation::kIfFewAreUnused));
  take(Delegations::kHeldMax + 2);
  EXPECT_FALSE(delegations_->Wants(AskDelegation::kYes));
}

}  // namespace
}  // namespace nfswalk::protocol
