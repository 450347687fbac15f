#include "nfsclient/vfs/changes_in_flight.h"

#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <string_view>
#include <thread>
#include <vector>

#include "nfsclient/icache/inode.h"
#include "nfsclient/protocol/call_deadline.h"
#include "nfsclient/vfs/inode_locks.h"

namespace nfswalk::vfs {
namespace {

using Change = ChangesInFlight::Change;

// A directory whose state is a number, and changes that each add 1 to it on the server.
class ChangesInFlightTest : public testing::Test {
 protected:
  Change MakeChange(std::string_view text) const {
    const PaddedName name(text, nullptr);
    return Change(directory_, name.name(), name.name());
  }
  void Send(Change& change) {
    ASSERT_TRUE(changes_.Begin(change));
    changes_.NoteSend(change);
  }
  // Takes in a reply that found the directory at `before`.
  void TakeIn(Change& change, int before) {
    const ChangesInFlight::Follows follows = [this, before] {
      waits_ = true;
      return known_ == before;
    };
    changes_.AwaitTurn(change, follows);
    taken_in_.push_back(before);
    known_ = before + 1;
    changes_.EndTurn(change);
  }
  // Calls TakeIn() on a thread of its own; returns once it waits for its turn.
  std::thread TakeInSoon(Change& change, int before) {
    waits_ = false;
    std::thread thread([this, &change, before] { TakeIn(change, before); });
    while (!waits_) std::this_thread::yield();
    return thread;
  }
  bool BeginsAtOnce(Change& change) {
    const protocol::CallDeadline now(protocol::CallDeadline::Clock::now());
    return changes_.Begin(change);
  }

  icache::Inode directory_, another_;
  ChangesInFlight changes_;
  std::atomic<bool> waits_{false};
  std::atomic<int> known_{0};
  std::vector<int> taken_in_;  // by whoever has its turn
};

TEST_F(ChangesInFlightTest, ChangesOfDifferentNamesAreInFlightTogether) {
  Change a = MakeChange("a"), b = MakeChange("b");
  ASSERT_TRUE(BeginsAtOnce(a));
  EXPECT_TRUE(BeginsAtOnce(b));
  changes_.End(a);
  changes_.End(b);
}

TEST_F(ChangesInFlightTest, ChangesOfOneNameFollowEachOther) {
  const PaddedName a("a", nullptr), b("b", nullptr);
  Change first(directory_, a.name(), b.name()), second(directory_, b.name(), b.name());
  ASSERT_TRUE(BeginsAtOnce(first));
  EXPECT_FALSE(BeginsAtOnce(second));
  Change elsewhere(another_, b.name(), b.name());
  EXPECT_TRUE(BeginsAtOnce(elsewhere));
  changes_.End(elsewhere);
  changes_.End(first);
  EXPECT_TRUE(BeginsAtOnce(second));
  changes_.End(second);
}

// ATTR-11.
TEST_F(ChangesInFlightTest, RepliesAreTakenInInTheOrderOfTheServer) {
  Change a = MakeChange("a"), b = MakeChange("b"), c = MakeChange("c");
  for (Change* change : {&a, &b, &c}) Send(*change);
  std::thread last = TakeInSoon(c, 2);
  std::thread second = TakeInSoon(b, 1);
  TakeIn(a, 0);
  second.join();
  last.join();
  EXPECT_EQ(taken_in_, (std::vector{0, 1, 2}));
  for (Change* change : {&a, &b, &c}) changes_.End(*change);
}

TEST_F(ChangesInFlightTest, AReplyThatFollowsNoneOfOursIsTakenInOnceNoOtherCanChangeThat) {
  Change a = MakeChange("a"), b = MakeChange("b"), later = MakeChange("later");
  Send(a);
  Send(b);
  std::thread stranger = TakeInSoon(b, 7);
  Send(later);  // the server has made `b` before
  TakeIn(a, 0);
  stranger.join();
  EXPECT_EQ(taken_in_, (std::vector{0, 7}));
  for (Change* change : {&a, &b, &later}) changes_.End(*change);
}

TEST_F(ChangesInFlightTest, AChangeThatIsNotSentIsNotWaitedFor) {
  Change a = MakeChange("a"), b = MakeChange("b");
  ASSERT_TRUE(BeginsAtOnce(a));
  Send(b);
  TakeIn(b, 7);
  EXPECT_EQ(taken_in_, std::vector{7});
  changes_.End(a);
  changes_.End(b);
}

TEST_F(ChangesInFlightTest, AChangeOfAnotherDirectoryIsNotWaitedFor) {
  const PaddedName name("a", nullptr);
  Change a(another_, name.name(), name.name()), b = MakeChange("b");
  Send(a);
  Send(b);
  TakeIn(b, 7);
  EXPECT_EQ(taken_in_, std::vector{7});
  changes_.End(a);
  changes_.End(b);
}

TEST_F(ChangesInFlightTest, AChangeThatEndsWithoutAReplyLetsTheOthersGo) {
  Change a = MakeChange("a"), b = MakeChange("b");
  Send(a);
  Send(b);
  std::thread stranger = TakeInSoon(b, 7);
  changes_.End(a);
  stranger.join();
  EXPECT_EQ(taken_in_, std::vector{7});
  changes_.End(b);
}

TEST_F(ChangesInFlightTest, OneReplyIsTakenInAtATime) {
  Change a = MakeChange("a"), b = MakeChange("b");
  Send(a);
  Send(b);
  const ChangesInFlight::Follows follows = [this] { return known_ == 0; };
  changes_.AwaitTurn(a, follows);
  known_ = 1;
  std::thread second([this, &b] { TakeIn(b, 1); });
  // Far more yields than it takes.
  for (int turns = 0; turns < 10'000 && known_ == 1; ++turns) std::this_thread::yield();
  EXPECT_EQ(known_, 1);
  changes_.EndTurn(a);
  second.join();
  EXPECT_EQ(known_, 2);
  changes_.End(a);
  changes_.End(b);
}

// NAME-23.
TEST(InodeLockForChange, IsSharedByChangesAndExcludesLookups) {
  const auto directory = std::make_unique<icache::Inode>();
  const auto locks = std::make_unique<InodeLocks>();
  const PaddedName a("a", nullptr), b("b", nullptr);
  const auto at_once = [&](auto lock) {
    bool locked = false;
    std::thread([&] {
      const protocol::CallDeadline now(protocol::CallDeadline::Clock::now());
      locked = lock();
    }).join();
    return locked;
  };
  const auto change = [&](const PaddedName& name) {
    return at_once([&] {
      return static_cast<bool>(InodeLocks::ForChange(*locks, *directory, name.name()));
    });
  };
  const auto look_up = [&] {
    return at_once([&] { return locks->LockShared(*directory).owns_lock(); });
  };
  const auto lock = [&] { return at_once([&] { return locks->Lock(*directory).owns_lock(); }); };
  {
    const InodeLocks::ForChange held(*locks, *directory, a.name());
    ASSERT_TRUE(held);
    EXPECT_TRUE(change(b));
    EXPECT_FALSE(change(a));
    EXPECT_FALSE(look_up());
    EXPECT_FALSE(lock());
  }
  EXPECT_TRUE(look_up());
  EXPECT_TRUE(lock());
  {
    const auto held = locks->LockShared(*directory);
    EXPECT_FALSE(change(a));
  }
  const auto held = locks->Lock(*directory);
  EXPECT_FALSE(change(a));
}

}  // namespace
}  // namespace nfswalk::vfs
