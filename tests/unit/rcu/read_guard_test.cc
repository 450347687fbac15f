#include "rcu/read_guard.h"

#include <gtest/gtest.h>
#include <pthread.h>
#include <urcu/static/urcu-memb.h>

#include <cstdint>
#include <thread>

namespace nfswalk::rcu {
namespace {

// Reads in a thread-local destructor, which runs after those constructed later.
struct LateReader {
  ~LateReader() { ReadGuard guard; }
};

pthread_key_t last_word;
bool registered_at_the_end = true;

// Destructors of pthread keys run after those of C++ objects, in rounds; this one runs in the
// third.
void NoteIfRegistered(void* rounds_left) {
  const auto left = reinterpret_cast<uintptr_t>(rounds_left) - 1;
  if (left > 0) {
    pthread_setspecific(last_word, reinterpret_cast<void*>(left));
  } else {
    registered_at_the_end = URCU_TLS(urcu_memb_reader).registered != 0;
  }
}

// liburcu accesses the TLS of every registered thread, which the thread frees at its end.
TEST(ReadGuard, AThreadWhoseLastObjectsReadIsNotLeftRegistered) {
  ASSERT_EQ(pthread_key_create(&last_word, &NoteIfRegistered), 0);
  std::thread([] {
    thread_local LateReader late;
    (void)late;
    ReadGuard guard;
    pthread_setspecific(last_word, reinterpret_cast<void*>(3));
  }).join();
  pthread_key_delete(last_word);
  EXPECT_FALSE(registered_at_the_end);
}

}  // namespace
}  // namespace nfswalk::rcu
