// changes_in_flight: changes of names whose requests are in flight together.
//
// Changes of one name wait for each other, so that the cache learns of them in the order in which
// the server made them. Those of different names of a directory do not, and their replies come in
// any order. Each says what the directory was before: it is taken in when that is what is known
// (ATTR-11), for which it may have to wait for an earlier reply.
//
// Thread safety: any. May sleep.
#ifndef NFSWALK_NFSCLIENT_VFS_CHANGES_IN_FLIGHT_H_
#define NFSWALK_NFSCLIENT_VFS_CHANGES_IN_FLIGHT_H_

#include <algorithm>
#include <array>
#include <boost/intrusive/list.hpp>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>

#include "nfsclient/icache/inode.h"
#include "nfsclient/protocol/call_deadline.h"
#include "nfsclient/vfs/name.h"

namespace nfswalk::vfs {

class ChangesInFlight {
 public:
  // Whether the directory is known as a reply found it. Called by any thread, under a lock.
  using Follows = std::function<bool()>;

  struct Change : boost::intrusive::list_base_hook<> {
    // A change of one or two names; `second` may be the first once more.
    Change(const icache::Inode& in, const Name& first, const Name& second)
        : directory(&in), names{first.hash, second.hash} {}

    bool Concerns(const Change& other) const {
      return directory == other.directory &&
             std::ranges::find_first_of(names, other.names) != names.end();
    }

    const icache::Inode* const directory;
    const std::array<uint64_t, 2> names;
    // Numbers in the order of requests and of replies; 0: not yet.
    uint64_t sent = 0;
    uint64_t replied = 0;
    const Follows* follows = nullptr;  // from the reply until it is taken in
    bool has_turn = false;             // to be taken in
  };

  // Waits for earlier changes of the names. False, and `change` is not in flight, if the thread's
  // CallDeadline has passed.
  [[nodiscard]] bool Begin(Change& change) {
    std::unique_lock lock(mutex_);
    changes_.push_back(change);
    const auto is_first = [&] {
      return &*std::ranges::find_if(
                 changes_, [&](const Change& other) { return other.Concerns(change); }) == &change;
    };
    const auto until = protocol::CallDeadline::Current();
    if (!protocol::WaitUntil(turn_, lock, until, is_first)) {
      Remove(change);
      return false;
    }
    return true;
  }

  // The request is sent next: nothing but its reply is waited for until AwaitTurn().
  void NoteSend(Change& change) {
    const std::lock_guard lock(mutex_);
    change.sent = ++clock_;
  }

  // Returns when the reply is to be taken in, and no other of the directory is until EndTurn(): as
  // soon as `follows` answers true; else when no reply that could change that is still to come.
  void AwaitTurn(Change& change, const Follows& follows) {
    std::unique_lock lock(mutex_);
    change.follows = &follows;
    change.replied = ++clock_;
    GiveTurn(*change.directory);
    (void)protocol::WaitUntil(turn_, lock, protocol::CallDeadline::Current(),
                              [&] { return change.has_turn; });
    change.has_turn = true;
  }
  void EndTurn(Change& change) {
    const std::lock_guard lock(mutex_);
    change.follows = nullptr;
    GiveTurn(*change.directory);
  }

  // Lets the next change of the names begin.
  void End(Change& change) {
    const std::lock_guard lock(mutex_);
    Remove(change);
  }

 private:
  // Preconditions of the functions below: mutex_ is held.

  void Remove(Change& change) {
    changes_.erase(changes_.iterator_to(change));
    GiveTurn(*change.directory);
    turn_.notify_all();
  }

  void GiveTurn(const icache::Inode& directory) {
    Change* next = nullptr;
    for (Change& change : changes_) {
      if (change.directory != &directory || change.follows == nullptr) continue;
      if (change.has_turn) return;
      if (next == nullptr && (*change.follows)()) next = &change;
    }
    for (Change& change : changes_) {
      if (next != nullptr) break;
      const bool waits = change.directory == &directory && change.follows != nullptr;
      if (waits && !HasPredecessors(change)) next = &change;
    }
    if (next == nullptr) return;
    next->has_turn = true;
    turn_.notify_all();
  }

  // Whether the server may have made a change before this one whose reply is still to come.
  bool HasPredecessors(const Change& change) const {
    return std::ranges::any_of(changes_, [&](const Change& other) {
      return other.directory == change.directory && other.sent != 0 && other.replied == 0 &&
             other.sent < change.replied;
    });
  }

  std::mutex mutex_;
  std::condition_variable turn_;
  boost::intrusive::list<Change, boost::intrusive::constant_time_size<false>> changes_;
  uint64_t clock_ = 0;
};

}  // namespace nfswalk::vfs

#endif  // NFSWALK_NFSCLIENT_VFS_CHANGES_IN_FLIGHT_H_
