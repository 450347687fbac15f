// defer: run something once no reader can hold what it is about to free.
//
// Thread safety: every function may be called from any thread. Callbacks run on one background
// thread, in the order they were deferred by a thread, and must not block for long.
#ifndef NFSWALK_RCU_DEFER_H_
#define NFSWALK_RCU_DEFER_H_

#include <system_error>

#include "rcu/read_guard.h"

namespace nfswalk::rcu {

// Starts the background thread, once in the process. Errors: those of pthread_create(3); as long as
// it has not succeeded it may be tried again. The first Defer() does it otherwise, and ends the
// process if it cannot.
std::errc StartCallbackThread();

// A member of every object that is freed after a grace period. In use from Defer() until its
// callback starts.
struct DeferHead {
  DeferHead* next;
  void (*callback)(DeferHead*);
};

// Calls fn(head) after every read-side critical section that exists now has ended: up to 10 ms
// later than that, so that many share a grace period. May be called inside one. Does not allocate
// or fail.
void Defer(DeferHead* head, void (*fn)(DeferHead*));

// Waits until every read-side critical section that exists now has ended. Not inside one, no
// spinning lock held.
void Synchronize();

// Waits until every callback deferred before has run, and those that these deferred in turn; they
// run as soon as their grace period ends. Not
// inside a read-side critical section, no spinning lock held, and not from a callback.
void Barrier();

}  // namespace nfswalk::rcu

#endif  // NFSWALK_RCU_DEFER_H_
