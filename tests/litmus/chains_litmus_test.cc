// RcuChain and BitLockChain.
#include <gtest/gtest.h>

#include <mutex>

#include "rcu/bit_lock_chain.h"
#include "rcu/rcu_chain.h"
#include "rcu/read_guard.h"
#include "tests/litmus/checked_atomic.h"
#include "tests/litmus/explorer.h"
#include "tests/litmus/scenario.h"

namespace nfswalk::rcu {
namespace {

using litmus::Plain;
using litmus::Require;
using litmus::RunThreads;
using litmus::Saw;
using litmus::Scenario;

struct alignas(8) Node {
  std::atomic<Node*> next{nullptr};
  Plain<int> data;
};

struct NodeTraits {
  static std::atomic<Node*>& Next(Node& node) { return node.next; }
};

using Chain = RcuChain<Node, NodeTraits>;

// A walk that reads all of each node. Returns the sum.
int Walk(const Chain& chain) {
  int sum = 0;
  for (Node* node = chain.FirstRcu(); node != nullptr; node = Chain::NextRcu(*node)) {
    sum += node->data.Read();
  }
  return sum;
}

void Insert(Chain& chain, Node& node, int data) {
  node.data.Write(data);
  chain.InsertHead(&node);
}

const Scenario kInsert(
    [] {
      Chain chain;
      Node one;
      Node two;
      RunThreads({[&] {
                    Insert(chain, one, 1);
                    Insert(chain, two, 2);
                  },
                  [&] {
                    if (Walk(chain) == 3) Saw("both are found");
                  }});
    },
    5, {"both are found"});

TEST(RcuChainLitmus, ANodeThatIsFoundIsInitialised) { kInsert.ExpectHolds(); }

// As when a table grows or a name moves: a reader that stands on the node goes on in another chain.
const Scenario kMove(
    [] {
      Chain from;
      Chain to;
      Node moves;
      Node is_there;
      Insert(from, moves, 1);
      RunThreads({[&] {
                    Insert(to, is_there, 2);
                    from.Remove(&moves);
                    to.InsertHead(&moves);
                  },
                  [&] {
                    if (Walk(from) == 3) Saw("the reader goes on in the other chain");
                  }});
    },
    5, {"the reader goes on in the other chain"});

TEST(RcuChainLitmus, AReaderOfANodeThatMovesFindsInitialisedNodesBehindIt) { kMove.ExpectHolds(); }

// The reader comes to `last` by the pointer that Remove() stored in the node before.
const Scenario kRemoveBehindReader(
    [] {
      Chain from;
      Chain to;
      Node moves;
      Node leaves;
      Node last;
      Insert(from, moves, 1);
      RunThreads({[&] {
                    Insert(to, last, 4);
                    Insert(to, leaves, 2);
                    from.Remove(&moves);
                    to.InsertHead(&moves);
                    to.Remove(&leaves);
                  },
                  [&] {
                    const int sum = Walk(from);
                    if (sum == 5) Saw("the reader passes by what was removed");
                    if (sum == 7) Saw("the reader meets all");
                  }});
    },
    10, {"the reader passes by what was removed", "the reader meets all"});

TEST(RcuChainLitmus, AReaderThatPassesARemovedNodeFindsInitialisedNodesBehindIt) {
  kRemoveBehindReader.ExpectHolds();
}

const Scenario kRemoveFirst(
    [] {
      Chain chain;
      Node leaves;
      Node stays;
      RunThreads({[&] {
                    Insert(chain, stays, 1);
                    Insert(chain, leaves, 2);
                    chain.Remove(&leaves);
                    Synchronize();
                    leaves.data.Write(0);  // its memory is used again
                  },
                  [&] {
                    ReadGuard guard;
                    const int sum = Walk(chain);
                    if (sum == 1) Saw("the node that stays is found alone");
                    if (sum == 3) Saw("the node that leaves is found");
                  }});
    },
    20, {"the node that stays is found alone", "the node that leaves is found"});

TEST(RcuChainLitmus, ARemovedNodeIsUsedAgainOnlyAfterItsReaders) { kRemoveFirst.ExpectHolds(); }

const Scenario kMoved(
    [] {
      Chain chain;
      Chain next;
      Node node;
      Plain<Chain*> table;
      RunThreads({[&] {
                    table.Write(&next);
                    Insert(next, node, 1);
                    chain.MarkMoved();
                  },
                  [&] {
                    if (Walk(chain) != 0 || !chain.moved()) return;
                    Saw("the mark is seen");
                    Require(Walk(*table.Read()) == 1, "a node is not where the mark leads");
                  }});
    },
    3, {"the mark is seen"});

TEST(RcuChainLitmus, AReaderOfTheMarkSeesTheNewTable) { kMoved.ExpectHolds(); }

using LockedChain = BitLockChain<Node, NodeTraits, /*kRealLock=*/false>;

const Scenario kTwoWriters(
    [] {
      LockedChain chain;
      Node one;
      Node two;
      Plain<int> guarded;
      const auto insert = [&](Node& node, int data) {
        std::lock_guard lock(chain);
        guarded.Write(guarded.Read() + data);
        node.data.Write(data);
        chain.InsertHead(&node);
      };
      RunThreads({[&] { insert(one, 1); }, [&] { insert(two, 2); },
                  [&] {
                    if (Walk(chain) == 3) Saw("both are found");
                  }});
      Require(guarded.Read() == 3 && Walk(chain) == 3, "a change is lost");
    },
    100, {"both are found"});

TEST(BitLockChainLitmus, WritersExcludeEachOtherAndReadersSeeWholeNodes) {
  kTwoWriters.ExpectHolds();
}

const Scenario kTryLock(
    [] {
      LockedChain chain;
      Plain<int> guarded;
      RunThreads({[&] {
                    std::lock_guard lock(chain);
                    guarded.Write(1);
                  },
                  [&] {
                    const std::unique_lock lock(chain, std::try_to_lock);
                    if (!lock.owns_lock()) Saw("the lock is held");
                    if (lock.owns_lock() && guarded.Read() == 1) Saw("the lock is free again");
                  }});
    },
    3, {"the lock is held", "the lock is free again"});

TEST(BitLockChainLitmus, ATryLockThatSucceedsSeesTheLastHoldersChanges) { kTryLock.ExpectHolds(); }

}  // namespace
}  // namespace nfswalk::rcu
