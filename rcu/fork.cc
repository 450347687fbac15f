#include "rcu/fork.h"

#include <pthread.h>

#include <mutex>
#include <new>

namespace nfswalk::rcu {
namespace {

// Held across fork(2), so that the child finds the list whole.
constinit std::mutex list_mutex;
constinit ForkWatch* first = nullptr;  // guarded by list_mutex

}  // namespace

ForkWatch::ForkWatch(InChild in_child, void* object) : in_child_(in_child), object_(object) {
  static const bool installed = [] {
    if (pthread_atfork(&BeforeFork, &InParent, &InTheChild) != 0) throw std::bad_alloc();
    return true;
  }();
  (void)installed;
  const std::lock_guard lock(list_mutex);
  next_ = first;
  if (first != nullptr) first->previous_ = this;
  first = this;
}

ForkWatch::~ForkWatch() {
  const std::lock_guard lock(list_mutex);
  if (next_ != nullptr) next_->previous_ = previous_;
  (previous_ != nullptr ? previous_->next_ : first) = next_;
}

void ForkWatch::BeforeFork() { list_mutex.lock(); }
void ForkWatch::InParent() { list_mutex.unlock(); }

void ForkWatch::InTheChild() {
  internal::in_forked_child.store(true);
  for (const ForkWatch* watch = first; watch != nullptr; watch = watch->next_) {
    watch->in_child_(watch->object_);
  }
  list_mutex.unlock();
}

}  // namespace nfswalk::rcu
