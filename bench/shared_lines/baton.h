// baton: threads that take turns strictly, in the order of their numbers.
#ifndef NFSWALK_BENCH_SHARED_LINES_BATON_H_
#define NFSWALK_BENCH_SHARED_LINES_BATON_H_

#include <semaphore.h>

#include <cstddef>
#include <memory>

namespace nfswalk::bench {

// Thread safety: all functions but the constructor and the destructor.
class Baton {
 public:
  explicit Baton(size_t threads);
  ~Baton();
  Baton(const Baton&) = delete;
  Baton& operator=(const Baton&) = delete;

  // For the conductor: each thread has one turn, one after the other.
  void Round();

  // For thread `thread`, in pairs.
  void AwaitTurn(size_t thread);
  void EndTurn(size_t thread);

 private:
  const size_t threads_;
  const std::unique_ptr<sem_t[]> turns_;  // one a thread, and at the end the conductor's
};

}  // namespace nfswalk::bench

#endif  // NFSWALK_BENCH_SHARED_LINES_BATON_H_
