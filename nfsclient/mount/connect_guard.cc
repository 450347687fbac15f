#include "nfsclient/mount/connect_guard.h"

#include <poll.h>
#include <pthread.h>
#include <sys/eventfd.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <cerrno>
#include <iterator>
#include <system_error>
#include <utility>

namespace nfswalk::mount {

sigset_t EndingSignals() {
  sigset_t signals;
  sigemptyset(&signals);
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) sigaddset(&signals, signal);
  return signals;
}

ConnectGuard::ConnectGuard(int parent, std::function<void(int signal)> say)
    : parent_(parent),
      say_(std::move(say)),
      signals_([signals = EndingSignals()] { return signalfd(-1, &signals, SFD_CLOEXEC); }()),
      ended_(eventfd(0, EFD_CLOEXEC)) {
  if (signals_ < 0 || ended_ < 0) return;
  try {
    thread_ = std::jthread([this] { Wait(); });
  } catch (const std::system_error&) {  // EAGAIN
  }
}

ConnectGuard::~ConnectGuard() {
  (void)eventfd_write(ended_, 1);
  if (thread_.joinable()) thread_.join();
  close(ended_);
  close(signals_);
}

void ConnectGuard::Wait() const {
  pollfd ready[] = {{signals_, POLLIN, 0}, {ended_, POLLIN, 0}, {parent_, 0, 0}};
  while (poll(ready, std::size(ready), -1) < 0 && errno == EINTR) {
  }
  if (ready[1].revents != 0) return;
  int signal = SIGTERM;
  if (ready[0].revents != 0) {
    signalfd_siginfo info{};
    if (read(signals_, &info, sizeof info) != sizeof info) return;
    signal = static_cast<int>(info.ssi_signo);
  }
  say_(signal);
  std::signal(signal, SIG_DFL);
  sigset_t one;
  sigemptyset(&one);
  sigaddset(&one, signal);
  pthread_sigmask(SIG_UNBLOCK, &one, nullptr);
  (void)raise(signal);
}

}  // namespace nfswalk::mount
