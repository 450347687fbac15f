// OpenCount: opens and closes beside removals of names. NAME-31.
#include <gtest/gtest.h>

#include "nfsclient/icache/open_count.h"
#include "tests/litmus/checked_atomic.h"
#include "tests/litmus/explorer.h"
#include "tests/litmus/scenario.h"

namespace nfswalk::icache {
namespace {

using litmus::Plain;
using litmus::Require;
using litmus::RunThreads;
using litmus::Saw;
using litmus::Scenario;

constexpr auto kRelaxed = std::memory_order_relaxed;

const Scenario kOpen(
    [] {
      OpenCount opens;
      Plain<bool> is_gone;
      RunThreads({[&] {
                    Require(opens.TryBeginRemoval(), "a removal that is not in progress");
                    if (opens.is_open()) Saw("the open was first");
                    if (!opens.is_open()) is_gone.Write(true);
                    (void)opens.EndRemoval();
                  },
                  [&] {
                    if (!opens.TryAdd())
                      Saw("the open has to wait");
                    else if (is_gone.Read())
                      Saw("the removal was first");
                  }});
    },
    4, {"the open was first", "the open has to wait", "the removal was first"});

TEST(OpenCountLitmus, AnOpenIsSeenByARemovalOrSeesWhatItDid) { kOpen.ExpectHolds(); }

const Scenario kRemovals(
    [] {
      OpenCount opens;
      Plain<int> names(2);
      const auto remove = [&] {
        if (!opens.TryBeginRemoval()) {
          Saw("another removal is in flight");
          return;
        }
        names.Write(names.Read() - 1);
        if (names.Read() == 0) Saw("the second removal");
        (void)opens.EndRemoval();
      };
      RunThreads({remove, remove});
    },
    4, {"another removal is in flight", "the second removal"});

TEST(OpenCountLitmus, RemovalsExcludeAndSeeEachOther) { kRemovals.ExpectHolds(); }

const Scenario kClose(
    [] {
      OpenCount opens;
      (void)opens.TryAdd();
      Plain<bool> closed_on_server;
      RunThreads({[&] {
                    closed_on_server.Write(true);
                    opens.Remove();
                  },
                  [&] {
                    (void)opens.TryBeginRemoval();
                    if (opens.is_open()) {
                      Saw("the file is open");
                      return;
                    }
                    Require(closed_on_server.Read(), "a file that is not open is not closed yet");
                    Saw("the file is closed");
                  }});
    },
    3, {"the file is open", "the file is closed"});

TEST(OpenCountLitmus, ARemovalSeesWhatAClosedFileDid) { kClose.ExpectHolds(); }

const Scenario kHidden(
    [] {
      OpenCount opens;
      (void)opens.TryAdd();
      std::atomic<bool> is_hidden{false};
      bool closer_removes = false, remover_removes = false, hides = false;
      RunThreads({[&] {
                    (void)opens.TryBeginRemoval();
                    hides = opens.is_open();
                    if (hides) is_hidden.store(true, kRelaxed);
                    (void)opens.EndRemoval();
                    (void)opens.TryBeginRemoval();
                    remover_removes = hides && !opens.is_open();
                    (void)opens.EndRemoval();
                  },
                  [&] {
                    opens.Remove();
                    closer_removes = is_hidden.load(kRelaxed);
                  }});
      Require(!hides || closer_removes || remover_removes, "the hidden name is left");
      if (closer_removes) Saw("the last close removes the name");
      if (remover_removes) Saw("who hid the name removes it");
    },
    5, {"the last close removes the name", "who hid the name removes it"});

TEST(OpenCountLitmus, AHiddenNameIsRemovedByTheCloseOrByWhoHidIt) { kHidden.ExpectHolds(); }

const Scenario kAwaited(
    [] {
      OpenCount opens;
      (void)opens.TryBeginRemoval();
      bool waits = false, tells = false;
      RunThreads({[&] { tells = opens.EndRemoval(); }, [&] { waits = opens.MarkAwaited(); }});
      Require(waits == tells, "a waiter is not told");
      Saw(waits ? "the end is awaited" : "the end was first");
      Require(opens.TryAdd(), "a removal has ended");
      Require(!opens.MarkAwaited(), "nothing is left to wait for");
    },
    2, {"the end is awaited", "the end was first"});

TEST(OpenCountLitmus, TheEndIsToldWhereItIsAwaited) { kAwaited.ExpectHolds(); }

}  // namespace
}  // namespace nfswalk::icache
