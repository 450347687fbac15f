// fork: whether this process is the child of a fork(2), without the threads that served its
// objects.
//
// The child inherits locks held by threads that it does not have, read sections that never end, and
// deferred callbacks that no thread runs. There, for good, no object of the library takes a lock,
// enters a section, defers or waits: calls fail, destructors leave what they own to exec(2) or
// exit.
//
// Thread safety: all functions.
#ifndef NFSWALK_RCU_FORK_H_
#define NFSWALK_RCU_FORK_H_

#include <atomic>

namespace nfswalk::rcu {

namespace internal {
// Set once, by the only thread of a child.
inline constinit std::atomic<bool> in_forked_child{false};
}  // namespace internal

// True in the child of a fork that was made after the process' first ForkWatch.
inline bool InForkedChild() { return internal::in_forked_child.load(); }

// Calls `in_child(object)` in the child of each fork, before fork(2) returns there: it may store to
// atomics and no more. Declare it last in the object, which is whole then as long as it is watched.
class ForkWatch {
 public:
  using InChild = void (*)(void* object);

  // Throws std::bad_alloc if the process' first one finds no memory for pthread_atfork(3).
  ForkWatch(InChild in_child, void* object);
  ~ForkWatch();
  ForkWatch(const ForkWatch&) = delete;
  ForkWatch& operator=(const ForkWatch&) = delete;

 private:
  static void BeforeFork();
  static void InParent();
  static void InTheChild();

  const InChild in_child_;
  void* const object_;
  ForkWatch* next_;  // this and below: guarded by the list's mutex
  ForkWatch* previous_ = nullptr;
};

}  // namespace nfswalk::rcu

#endif  // NFSWALK_RCU_FORK_H_
