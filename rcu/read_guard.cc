#include "rcu/read_guard.h"

#include <pthread.h>

#include <cstdio>
#include <cstdlib>

#include "rcu/fork.h"

namespace nfswalk::rcu::internal {

constinit thread_local bool thread_registered = false;

namespace {

void UnregisterThread(void*) {
  thread_registered = false;
  if (InForkedChild()) return;  // liburcu's locks may be held for ever
  urcu_memb_unregister_thread();
}

// Its destructor runs when the thread's C++ objects are gone, and once more if what runs after it
// has entered a section: no thread ends registered, whatever its last objects do.
pthread_key_t ExitKey() {
  static const pthread_key_t key = [] {
    pthread_key_t made;
    if (pthread_key_create(&made, &UnregisterThread) != 0) {
      std::perror("read guard: pthread_key_create");
      std::abort();
    }
    return made;
  }();
  return key;
}

}  // namespace

void RegisterThread() {
  thread_registered = true;
  urcu_memb_register_thread();
  pthread_setspecific(ExitKey(), &thread_registered);  // any value but nullptr
}

}  // namespace nfswalk::rcu::internal
