// The calls of nfswalk.h that answer to a callback.

#include <algorithm>
#include <array>
#include <cstring>
#include <span>
#include <string>
#include <string_view>

#include "nfsclient/c_api/c_binding.h"
#include "nfsclient/c_api/callback_queue.h"
#include "nfsclient/c_api/nfswalk.h"
#include "rcu/fork.h"

using nfswalk::Attributes;
using nfswalk::CallbackQueue;
using nfswalk::Client;
using nfswalk::Credential;
using nfswalk::QueuedCall;
using nfswalk::ResolveFlags;
using nfswalk::Result;
using nfswalk::c_binding::AttributesOf;
using nfswalk::c_binding::CredentialOrMounters;
using nfswalk::c_binding::FlagsOf;
using nfswalk::c_binding::Guarded;
using nfswalk::c_binding::kAllFlags;
using nfswalk::c_binding::ResultOf;

struct nfswalk_queue {
  nfswalk_client* client;
  std::unique_ptr<CallbackQueue> calls;
};

namespace {

constexpr unsigned kThreadsMax = 256;

// The arguments that all calls share, copied from the submitter.
struct Request {
  Request(const nfswalk_queue& queue, const nfswalk_node* from, const char* where,
          const nfswalk_credential* credential, unsigned flag_bits)
      : client(*queue.client->client),
        node(from != nullptr ? from->node.get() : nullptr),
        path(where),
        credential(CredentialOrMounters(*queue.client, credential)),
        flags(FlagsOf(flag_bits)) {}

  // `call(origin)` with the Node or the Client: they have calls of the same names.
  template <class Call>
  auto From(Call&& call) const {
    return node != nullptr ? call(*node) : call(client);
  }

  Client& client;
  const nfswalk::Node* const node;
  std::string path;
  Credential credential;
  ResolveFlags flags;
};

// `Kind` has Run(request, flags), which sets and returns a result, and Deliver(result).
template <class Kind>
class Call : public QueuedCall {
 public:
  Call(Request request, Kind kind) : request_(std::move(request)), kind_(kind) {}

  bool AnswerAtOnce() override {
    ResolveFlags flags = request_.flags;
    flags.cached = true;
    Run(flags);
    return request_.flags.cached || result_ != -EAGAIN;
  }
  void Answer() override { Run(request_.flags); }
  void Cancel() override { result_ = -ECANCELED; }
  void Deliver() override { kind_.Deliver(result_); }

 private:
  void Run(ResolveFlags flags) {
    result_ = Guarded([&]() -> ssize_t { return kind_.Run(request_, flags); });
  }

  const Request request_;
  Kind kind_;
  ssize_t result_ = -ECANCELED;
};

struct StatCall {
  nfswalk_stat_callback callback;
  void* data;
  nfswalk_attributes attributes = {};

  ssize_t Run(const Request& request, ResolveFlags flags) {
    auto found = request.From(
        [&](auto& from) { return from.Stat(request.path, request.credential, flags); });
    if (!found) return ResultOf(found.error());
    attributes = AttributesOf(*found);
    return 0;
  }
  void Deliver(ssize_t result) {
    callback(data, static_cast<int>(result), result == 0 ? &attributes : nullptr);
  }
};

struct AccessCall {
  nfswalk_access_callback callback;
  void* data;
  unsigned rights;

  ssize_t Run(const Request& request, ResolveFlags flags) {
    return ResultOf(request.From(
        [&](auto& from) { return from.Access(request.path, rights, request.credential, flags); }));
  }
  void Deliver(ssize_t result) { callback(data, static_cast<int>(result)); }
};

struct ReadLinkCall {
  nfswalk_readlink_callback callback;
  void* data;
  std::string target = {};

  ssize_t Run(const Request& request, ResolveFlags flags) {
    std::array<char, 4096> text;
    auto count = request.From(
        [&](auto& from) { return from.ReadLink(request.path, text, request.credential, flags); });
    if (!count) return ResultOf(count.error());
    target.assign(text.data(), *count);
    return static_cast<ssize_t>(*count);
  }
  void Deliver(ssize_t result) { callback(data, result, result >= 0 ? target.c_str() : nullptr); }
};

template <class Kind>
int Submit(nfswalk_queue* queue, const nfswalk_node* from, const char* path,
           const nfswalk_credential* credential, unsigned flags, Kind kind) {
  if (queue == nullptr || path == nullptr || kind.callback == nullptr) return -EFAULT;
  if ((flags & ~kAllFlags) != 0) return -EINVAL;
  if (nfswalk::rcu::InForkedChild()) return -ECANCELED;
  return Guarded([&] {
    return ResultOf(queue->calls->Submit(std::make_unique<Call<Kind>>(
        Request(*queue, from, path, credential, flags), std::move(kind))));
  });
}

}  // namespace

int nfswalk_queue_create(nfswalk_client* client, unsigned threads, nfswalk_queue** queue) {
  if (client == nullptr || queue == nullptr) return -EFAULT;
  if (threads == 0 || threads > kThreadsMax) return -EINVAL;
  if (nfswalk::rcu::InForkedChild()) return -ECANCELED;
  return Guarded([&] {
    auto calls = CallbackQueue::Create(threads);
    if (!calls) return ResultOf(calls.error());
    *queue = new nfswalk_queue{client, std::move(*calls)};
    return 0;
  });
}

int nfswalk_queue_fd(const nfswalk_queue* queue) {
  return queue != nullptr ? queue->calls->fd() : -EFAULT;
}

int nfswalk_queue_stat(nfswalk_queue* queue, const nfswalk_node* from, const char* path,
                       const nfswalk_credential* credential, unsigned flags,
                       nfswalk_stat_callback callback, void* data) {
  return Submit(queue, from, path, credential, flags, StatCall{callback, data});
}

int nfswalk_queue_access(nfswalk_queue* queue, const nfswalk_node* from, const char* path,
                         unsigned rights, const nfswalk_credential* credential, unsigned flags,
                         nfswalk_access_callback callback, void* data) {
  return Submit(queue, from, path, credential, flags, AccessCall{callback, data, rights});
}

int nfswalk_queue_readlink(nfswalk_queue* queue, const nfswalk_node* from, const char* path,
                           const nfswalk_credential* credential, unsigned flags,
                           nfswalk_readlink_callback callback, void* data) {
  return Submit(queue, from, path, credential, flags, ReadLinkCall{callback, data});
}

int nfswalk_queue_dispatch(nfswalk_queue* queue, unsigned max) {
  if (queue == nullptr) return -EFAULT;
  if (nfswalk::rcu::InForkedChild()) return -ECANCELED;
  return static_cast<int>(queue->calls->Dispatch(max));
}

void nfswalk_queue_destroy(nfswalk_queue* queue) {
  // Its threads, and whatever they held, are the parent's.
  if (queue != nullptr && nfswalk::rcu::InForkedChild()) (void)queue->calls.release();
  delete queue;
}
