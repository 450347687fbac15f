#include "rcu/read_guard.h"

#include <urcu/static/urcu-memb.h>

namespace nfswalk::rcu::internal {

constinit thread_local bool thread_registered = false;

namespace {
struct ThreadExit {
  ~ThreadExit() {
    thread_registered = false;
    urcu_memb_unregister_thread();
  }
};
}  // namespace

void RegisterThread() {
  thread_registered = true;
  // liburcu's own callback thread registers itself, and may enter sections from our callbacks.
  if (URCU_TLS(urcu_memb_reader).registered) return;
  urcu_memb_register_thread();
  thread_local ThreadExit unregister_at_exit;
  (void)unregister_at_exit;
}

}  // namespace nfswalk::rcu::internal
