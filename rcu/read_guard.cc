#include "rcu/read_guard.h"

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
  urcu_memb_register_thread();
  thread_registered = true;
  thread_local ThreadExit unregister_at_exit;
  (void)unregister_at_exit;
}

}  // namespace nfswalk::rcu::internal
