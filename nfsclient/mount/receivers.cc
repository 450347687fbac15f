#include "nfsclient/mount/receivers.h"

#include <pthread.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <ctime>
#include <exception>

#include "nfsclient/client.h"
#include "rcu/sync_point.h"

namespace nfswalk::mount {
namespace {

// A thread that has looked and not yet read misses a signal: it gets another one.
constexpr timespec kEndInterval{.tv_sec = 0, .tv_nsec = 10'000'000};
constexpr timespec kTurnInterval{.tv_sec = 0, .tv_nsec = 50'000};
// Receiving threads wait for nothing that takes so long, unless there are no others.
constexpr std::chrono::milliseconds kTurnMax{100};

thread_local bool is_receiver = false;

}  // namespace

bool Receivers::Start(size_t count) {
  for (size_t i = 0; i < count; ++i) receivers_.emplace_back();
  size_t running = 0;
  try {
    for (Receiver& receiver : receivers_) {
      receiver.thread = std::jthread([this, &receiver] { Receive(receiver); });
      ++running;
    }
  } catch (const std::exception&) {  // no thread, or no memory for it
  }
  while (receivers_.size() > running) receivers_.pop_back();
  running_ = running;
  started_ = true;
  started_.notify_all();
  return !receivers_.empty();
}

void Receivers::End() {
  ending_ = true;
  fuse_session_exit(session_);
  while (running_ != 0) {
    for (Receiver& receiver : receivers_) Wake(receiver);
    nanosleep(&kEndInterval, nullptr);
  }
}

void Receivers::AwaitReceived() {
  if (is_receiver) return;
  NFSWALK_SYNC_POINT("receivers:await");
  const auto until = std::chrono::steady_clock::now() + kTurnMax;
  for (Receiver& receiver : receivers_) {
    const uint64_t turn = receiver.turns.load();
    // R1: pairs with Receive().
    while (receiver.turns.load(std::memory_order_acquire) == turn && !receiver.ended.load()) {
      if (Cancellation::IsCanceled() || std::chrono::steady_clock::now() >= until) return;
      Wake(receiver);
      nanosleep(&kTurnInterval, nullptr);
    }
  }
}

void Receivers::Wake(Receiver& receiver) { pthread_kill(receiver.thread.native_handle(), SIGUSR1); }

void Receivers::Receive(Receiver& receiver) {
  is_receiver = true;
  sigset_t wake;
  sigemptyset(&wake);
  sigaddset(&wake, SIGUSR1);
  pthread_sigmask(SIG_UNBLOCK, &wake, nullptr);  // whatever mask this process has inherited
  started_.wait(false);
  fuse_buf buffer{};
  while (!fuse_session_exited(session_)) {
    const int received = fuse_session_receive_buf(session_, &buffer);
    if (received > 0) {
      requests_.Count(buffer.mem);
      fuse_session_process_buf(session_, &buffer);
    } else if (received != -EINTR) {
      break;
    }
    receiver.turns.fetch_add(1, std::memory_order_release);  // R1: pairs with AwaitReceived()
  }
  std::free(buffer.mem);
  receiver.ended = true;
  if (--running_ == 0 && !ending_) kill(getpid(), SIGTERM);
}

}  // namespace nfswalk::mount
