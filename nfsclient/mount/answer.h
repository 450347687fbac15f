// answer: runs what a request asks for, where it may run: on the thread that received it as long as
// nothing waits for the server, else on one of the workers.
//
// Thread safety: any thread.
#ifndef NFSWALK_NFSCLIENT_MOUNT_ANSWER_H_
#define NFSWALK_NFSCLIENT_MOUNT_ANSWER_H_

#include <sys/types.h>

#include <cerrno>
#include <cstdint>
#include <new>
#include <system_error>
#include <utility>

#include "nfsclient/client.h"
#include "nfsclient/mount/file_system.h"
#include "nfsclient/mount/fuse.h"

namespace nfswalk::mount {

// One try of a request. A call that replies returns errc{}; any other error is the reply. A reply
// frees the request.
struct Try {
  FileSystem& file_system;
  fuse_req_t request;
  const pid_t caller;
  const Credential& credential;
  ResolveFlags flags;  // no_follow; on the receiving thread also `cached`
  KernelSize::Time received = KernelSize::Now();
};

template <typename Call>
std::errc TryToAnswer(Call& call, const Try& attempt) try {
  return call(attempt);
} catch (const std::bad_alloc&) {
  return std::errc::not_enough_memory;
}

// ECANCELED, of a client that was shut down, is the error of no system call.
inline int ErrnoOf(std::errc error) {
  return error == std::errc::operation_canceled ? EIO : static_cast<int>(error);
}

// Answers a request on this thread, one of the workers.
template <typename Call>
void AnswerWaiting(Call& call, Interrupts::Ends ends, Try attempt) {
  fuse_req_t request = attempt.request;
  Cancellation cancellation;
  const Interrupts::Entry entry(attempt.file_system.interrupts, attempt.caller, cancellation, ends);
  fuse_req_interrupt_func(
      request,
      [](fuse_req_t interrupted, void* id) {
        FileSystem::Of(interrupted).interrupts.Interrupt(reinterpret_cast<uint64_t>(id));
      },
      reinterpret_cast<void*>(entry.id()));
  const CancelScope scope(cancellation);
  const std::errc error = TryToAnswer(call, attempt);
  if (error == std::errc{}) return;
  fuse_reply_err(request, cancellation.canceled() ? EINTR : ErrnoOf(error));
}

// `call`: std::errc(const Try&), on one of `workers`.
template <typename Call>
void AnswerOn(TaskThreads& workers, Interrupts::Ends ends, fuse_req_t request, Call call) {
  FileSystem& file_system = FileSystem::Of(request);
  auto credential = file_system.callers.Of(request);
  workers.Run([request, ends, &file_system, received = KernelSize::Now(),
               credential = std::move(credential), call = std::move(call)]() mutable {
    try {
      AnswerWaiting(call, ends,
                    {file_system, request, fuse_req_ctx(request)->pid, *credential,
                     {.no_follow = true}, received});
    } catch (const std::bad_alloc&) {  // of the Interrupts::Entry: nothing has been tried
      fuse_reply_err(request, ENOMEM);
    }
  });
}

template <typename Call>
void AnswerOnWorker(fuse_req_t request, Call call) {
  AnswerOn(FileSystem::Of(request).workers, Interrupts::Ends::kWithCaller, request,
           std::move(call));
}

// Answers on this thread unless `call` ends there in `needs_server`; nothing may have been sent
// then, and a worker answers.
template <typename Call>
void AnswerHere(fuse_req_t request, std::errc needs_server, Call call) {
  FileSystem& file_system = FileSystem::Of(request);
  const auto credential = file_system.callers.Of(request);
  const std::errc error =
      TryToAnswer(call, {file_system, request, fuse_req_ctx(request)->pid, *credential,
                         {.no_follow = true, .cached = true}});
  if (error == needs_server) return AnswerOnWorker(request, std::move(call));
  if (error != std::errc{}) fuse_reply_err(request, ErrnoOf(error));
}

// For calls that take ResolveFlags: what the caches answer is answered at once.
template <typename Call>
void AnswerCached(fuse_req_t request, Call call) {
  AnswerHere(request, std::errc::resource_unavailable_try_again, std::move(call));
}

// For calls that take none: tried without time to wait for anything.
template <typename Call>
void AnswerAtOnce(fuse_req_t request, Call call) {
  const Deadline none(Deadline::Clock::time_point{});
  AnswerHere(request, std::errc::timed_out, std::move(call));
}

}  // namespace nfswalk::mount

#endif  // NFSWALK_NFSCLIENT_MOUNT_ANSWER_H_
