#include "tests/fuzz/wire/simulated_network.h"

#include <dlfcn.h>
#include <linux/futex.h>
#include <poll.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <utility>

namespace nfswalk::fuzz {
namespace {

// No descriptor of the kernel's: what is not replaced fails with EBADF, which is harmless.
constexpr int kFirstFd = 1 << 24;
constexpr uint64_t kSecond = 1'000'000'000;
constexpr uint64_t kReadingTakes = 1'000;
constexpr uint64_t kStart = 1'000'000 * kSecond;
constexpr size_t kMarkBytes = 4;

constinit thread_local SimulatedNetwork* current = nullptr;

uint64_t Nanoseconds(const timespec& time) {
  return static_cast<uint64_t>(time.tv_sec) * kSecond + static_cast<uint64_t>(time.tv_nsec);
}

}  // namespace

SimulatedNetwork::SimulatedNetwork(Server& server, const Limits& limits)
    : server_(server), limits_(limits), now_ns_(kStart) {
  current = this;
}
SimulatedNetwork::~SimulatedNetwork() { current = nullptr; }
SimulatedNetwork* SimulatedNetwork::Current() { return current; }

int SimulatedNetwork::Socket() {
  connections_.emplace_back();
  return kFirstFd + static_cast<int>(connections_.size()) - 1;
}

bool SimulatedNetwork::Has(int fd) { return current != nullptr && fd >= kFirstFd; }

int SimulatedNetwork::Connect(int fd, const sockaddr& address) {
  Connection& connection = connections_.at(static_cast<size_t>(fd - kFirstFd));
  connection = {};
  if (address.sa_family == AF_UNSPEC) return 0;
  const Accepts accepts = server_.Accept();
  if (accepts == Accepts::kRefuses) return -ECONNREFUSED;
  connection.is_connected = accepts == Accepts::kYes;
  return -EINPROGRESS;
}

short SimulatedNetwork::Poll(int fd, short events, int timeout_ms) {
  const Connection& connection = connections_.at(static_cast<size_t>(fd - kFirstFd));
  const bool can_send = connection.is_connected && (events & POLLOUT) != 0;
  const uint64_t wait_ns = can_send ? 0 : static_cast<uint64_t>(timeout_ms) * (kSecond / 1000);
  short ready = can_send ? POLLOUT : 0;
  if ((events & POLLIN) == 0) {
    Wait(wait_ns);
  } else if (Arrives(connection, wait_ns)) {
    ready |= POLLIN;
  }
  return ready;
}

ssize_t SimulatedNetwork::Receive(int fd, void* into, size_t size, int flags) {
  Connection& connection = connections_.at(static_cast<size_t>(fd - kFirstFd));
  // SO_RCVTIMEO.
  if (!Arrives(connection, (flags & MSG_DONTWAIT) != 0 ? 0 : kSecond)) return -EAGAIN;
  const size_t there = connection.replies.size() - connection.taken;
  // Long replies would take too long in small pieces.
  const size_t pieces = std::max(limits_.received, connection.replies.size() / 256);
  const size_t taken = std::min({size, there, connection.is_slow ? size_t{1} : pieces});
  std::memcpy(into, connection.replies.data() + connection.taken, taken);
  if ((flags & MSG_PEEK) != 0) return static_cast<ssize_t>(taken);
  connection.taken += taken;
  connection.next_ns = now_ns_ + kSecond;
  return static_cast<ssize_t>(taken);
}

bool SimulatedNetwork::Arrives(const Connection& connection, uint64_t wait_ns) {
  const bool is_there = connection.taken < connection.replies.size();
  const uint64_t at_ns = is_there && connection.is_slow ? connection.next_ns : now_ns_;
  const bool arrives = (is_there || connection.has_ended) && at_ns <= now_ns_ + wait_ns;
  WaitUntil(arrives ? at_ns : now_ns_ + wait_ns);
  return arrives;
}

ssize_t SimulatedNetwork::Send(int fd, const msghdr& message) {
  Connection& connection = connections_.at(static_cast<size_t>(fd - kFirstFd));
  if (!connection.is_connected || connection.has_ended) return -EPIPE;
  size_t sent = 0;
  for (size_t i = 0; i < message.msg_iovlen && sent < limits_.sent; ++i) {
    const iovec& part = message.msg_iov[i];
    const size_t bytes = std::min(part.iov_len, limits_.sent - sent);
    connection.call.append(static_cast<const char*>(part.iov_base), bytes);
    sent += bytes;
  }
  TakeCalls(connection);
  return static_cast<ssize_t>(sent);
}

void SimulatedNetwork::TakeCalls(Connection& connection) {
  while (connection.call.size() >= kMarkBytes && !connection.has_ended) {
    uint32_t mark;
    std::memcpy(&mark, connection.call.data(), sizeof mark);
    const size_t bytes = kMarkBytes + (__builtin_bswap32(mark) & 0x7fffffff);
    if (connection.call.size() < bytes) return;
    Sent sent = server_.Answer({connection.call.data() + kMarkBytes, bytes - kMarkBytes});
    connection.call.erase(0, bytes);
    connection.replies.erase(0, std::exchange(connection.taken, 0));
    if (connection.replies.empty()) {
      connection.replies = std::move(sent.bytes);
    } else {
      connection.replies += sent.bytes;
    }
    connection.has_ended = sent.ends;
    connection.is_slow |= sent.is_slow;
  }
}

void SimulatedNetwork::Shutdown(int fd) {
  connections_.at(static_cast<size_t>(fd - kFirstFd)).has_ended = true;
}

uint64_t SimulatedNetwork::ReadClock() { return now_ns_ += kReadingTakes; }
void SimulatedNetwork::Wait(uint64_t ns) { now_ns_ += ns; }
void SimulatedNetwork::WaitUntil(uint64_t ns) { now_ns_ = std::max(now_ns_, ns); }

pthread_t SimulatedNetwork::CreateThread(void* (*start)(void*), void* argument) {
  threads_[++last_thread_] = {start, argument};
  return last_thread_;
}

bool SimulatedNetwork::RunThread(pthread_t thread, bool is_awaited) {
  const auto found = threads_.extract(thread);
  if (found.empty()) return false;
  const uint64_t started_ns = now_ns_;
  found.mapped().start(found.mapped().argument);
  if (!is_awaited) now_ns_ = started_ns;
  return true;
}

namespace {

// The next definition of a function: the C library's, or a sanitizer's.
template <typename Function>
Function* Next(const char* name, Function*) {
  return reinterpret_cast<Function*>(dlsym(RTLD_NEXT, name));
}

int Result(ssize_t result) {
  if (result >= 0) return static_cast<int>(result);
  errno = static_cast<int>(-result);
  return -1;
}

}  // namespace
}  // namespace nfswalk::fuzz

using nfswalk::fuzz::SimulatedNetwork;

// NOLINTBEGIN: the names are those of the C library.
#define NFSWALK_NEXT(function) \
  static const auto next = nfswalk::fuzz::Next(#function, static_cast<decltype(&function)>(nullptr))

extern "C" {

int socket(int domain, int type, int protocol) noexcept {
  NFSWALK_NEXT(socket);
  const bool simulated = nfswalk::fuzz::current != nullptr && (type & SOCK_STREAM) != 0;
  return simulated ? nfswalk::fuzz::current->Socket() : next(domain, type, protocol);
}

int connect(int fd, const sockaddr* address, socklen_t size) {
  NFSWALK_NEXT(connect);
  if (!SimulatedNetwork::Has(fd)) return next(fd, address, size);
  return nfswalk::fuzz::Result(nfswalk::fuzz::current->Connect(fd, *address));
}

// Polls the first descriptor only: the others let another thread wake the one that polls, and there
// is no other thread.
int poll(pollfd* events, nfds_t count, int timeout_ms) {
  NFSWALK_NEXT(poll);
  if (count == 0 || !SimulatedNetwork::Has(events->fd)) return next(events, count, timeout_ms);
  for (nfds_t i = 1; i < count; ++i) events[i].revents = 0;
  events->revents = nfswalk::fuzz::current->Poll(events->fd, events->events, timeout_ms);
  return events->revents != 0 ? 1 : 0;
}

ssize_t recv(int fd, void* into, size_t size, int flags) {
  NFSWALK_NEXT(recv);
  if (!SimulatedNetwork::Has(fd)) return next(fd, into, size, flags);
  return nfswalk::fuzz::Result(nfswalk::fuzz::current->Receive(fd, into, size, flags));
}

ssize_t sendmsg(int fd, const msghdr* message, int flags) {
  NFSWALK_NEXT(sendmsg);
  if (!SimulatedNetwork::Has(fd)) return next(fd, message, flags);
  return nfswalk::fuzz::Result(nfswalk::fuzz::current->Send(fd, *message));
}

int getsockopt(int fd, int level, int option, void* value, socklen_t* size) noexcept {
  NFSWALK_NEXT(getsockopt);
  if (!SimulatedNetwork::Has(fd)) return next(fd, level, option, value, size);
  std::memset(value, 0, *size);  // SO_ERROR
  return 0;
}

int shutdown(int fd, int how) noexcept {
  NFSWALK_NEXT(shutdown);
  if (!SimulatedNetwork::Has(fd)) return next(fd, how);
  nfswalk::fuzz::current->Shutdown(fd);
  return 0;
}

int clock_gettime(clockid_t clock, timespec* into) noexcept {
  using namespace nfswalk::fuzz;
  const bool monotonic = clock == CLOCK_MONOTONIC || clock == CLOCK_MONOTONIC_COARSE;
  if (current == nullptr || !monotonic) {
    NFSWALK_NEXT(clock_gettime);
    return next(clock, into);
  }
  const uint64_t ns = current->ReadClock();
  *into = {static_cast<time_t>(ns / kSecond), static_cast<long>(ns % kSecond)};
  return 0;
}

long syscall(long number, ...) noexcept {
  NFSWALK_NEXT(syscall);
  va_list arguments;
  va_start(arguments, number);
  long values[6];
  for (long& value : values) value = va_arg(arguments, long);
  va_end(arguments);
  if (nfswalk::fuzz::current == nullptr || number != SYS_futex) {
    return next(number, values[0], values[1], values[2], values[3], values[4], values[5]);
  }
  if ((values[1] & FUTEX_CMD_MASK) == FUTEX_WAKE) return 0;
  const auto* timeout = reinterpret_cast<const timespec*>(values[3]);
  if (timeout == nullptr) {
    std::fputs("waits without a deadline\n", stderr);
    std::abort();
  }
  nfswalk::fuzz::current->Wait(nfswalk::fuzz::Nanoseconds(*timeout));
  return nfswalk::fuzz::Result(-ETIMEDOUT);
}

int pthread_cond_clockwait(pthread_cond_t* condition, pthread_mutex_t* mutex, clockid_t clock,
                           const timespec* until) {
  NFSWALK_NEXT(pthread_cond_clockwait);
  if (nfswalk::fuzz::current == nullptr) return next(condition, mutex, clock, until);
  nfswalk::fuzz::current->WaitUntil(nfswalk::fuzz::Nanoseconds(*until));
  return ETIMEDOUT;
}

int pthread_create(pthread_t* thread, const pthread_attr_t* attributes, void* (*start)(void*),
                   void* argument) noexcept {
  NFSWALK_NEXT(pthread_create);
  if (nfswalk::fuzz::current == nullptr) return next(thread, attributes, start, argument);
  *thread = nfswalk::fuzz::current->CreateThread(start, argument);
  return 0;
}

int pthread_join(pthread_t thread, void** result) {
  NFSWALK_NEXT(pthread_join);
  auto* const network = nfswalk::fuzz::current;
  if (network != nullptr && network->RunThread(thread, true)) return 0;
  return next(thread, result);
}

int pthread_detach(pthread_t thread) noexcept {
  NFSWALK_NEXT(pthread_detach);
  auto* const network = nfswalk::fuzz::current;
  if (network != nullptr && network->RunThread(thread, false)) return 0;
  return next(thread);
}

uint32_t arc4random() noexcept {
  NFSWALK_NEXT(arc4random);
  return nfswalk::fuzz::current != nullptr ? nfswalk::fuzz::current->Random() : next();
}

}  // extern "C"
// NOLINTEND
