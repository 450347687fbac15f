#include "bench/shared_lines/baton.h"

#include <cerrno>

namespace nfswalk::bench {

namespace {

void Await(sem_t& semaphore) {
  while (sem_wait(&semaphore) != 0 && errno == EINTR) {
  }
}

}  // namespace

Baton::Baton(size_t threads) : threads_(threads), turns_(std::make_unique<sem_t[]>(threads + 1)) {
  for (size_t i = 0; i <= threads_; ++i) sem_init(&turns_[i], /*pshared=*/0, 0);
}

Baton::~Baton() {
  for (size_t i = 0; i <= threads_; ++i) sem_destroy(&turns_[i]);
}

void Baton::Round() {
  sem_post(&turns_[0]);
  Await(turns_[threads_]);
}

void Baton::AwaitTurn(size_t thread) { Await(turns_[thread]); }

void Baton::EndTurn(size_t thread) { sem_post(&turns_[thread + 1]); }

}  // namespace nfswalk::bench
