// oracle_delegations: the delegations that an OracleServer has granted, at most one for each file
// and directory.
//
// Thread safety: all functions are called with the server's mutex held, except those of the object
// that Grant() returns.
#ifndef NFSWALK_TESTS_STRESS_ORACLE_DELEGATIONS_H_
#define NFSWALK_TESTS_STRESS_ORACLE_DELEGATIONS_H_

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <unordered_map>

#include "nfsclient/protocol/protocol.h"
#include "tests/stress/oracle_history.h"

namespace nfswalk::stress {

class OracleDelegations {
 public:
  // `mutex`: the server's. `on_return` (may be empty) runs on the client's thread, before the
  // server knows that a delegation is returned.
  OracleDelegations(std::mutex& mutex, std::function<void()> on_return)
      : mutex_(mutex), on_return_(std::move(on_return)) {}

  // Null where the server grants none: the file is delegated, or this is one of the requests that
  // it refuses (every fourth).
  std::unique_ptr<protocol::Delegation> Grant(NodeId node);
  bool IsHeld(NodeId node) const { return held_.contains(node); }
  // Ends those that their holder says are of no use.
  void EndIdle();
  // Calls the client, and waits until the file is not delegated any more. `lock`: of the mutex.
  void Recall(NodeId node, std::unique_lock<std::mutex>& lock);
  void RecallAll(std::unique_lock<std::mutex>& lock);
  uint64_t recalled() const { return recalled_; }

 private:
  class Granted;
  struct Held {
    std::function<void()> on_end = {};
    std::function<bool()> was_used = {};
    bool is_recalled = false;
  };

  std::mutex& mutex_;
  const std::function<void()> on_return_;
  // These are guarded by mutex_.
  std::condition_variable returned_;
  std::unordered_map<NodeId, Held> held_;
  uint64_t asked_ = 0;
  uint64_t recalled_ = 0;
};

}  // namespace nfswalk::stress

#endif  // NFSWALK_TESTS_STRESS_ORACLE_DELEGATIONS_H_
