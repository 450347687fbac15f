// The calls of nfswalk.h for many paths at once, and cancellations.

#include <algorithm>
#include <cstddef>
#include <expected>
#include <new>
#include <optional>
#include <span>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "nfsclient/c_api/c_binding.h"
#include "nfsclient/c_api/nfswalk.h"

using nfswalk::Attributes;
using nfswalk::CancelScope;
using nfswalk::Node;
using nfswalk::Result;
using nfswalk::c_binding::AttributesOf;
using nfswalk::c_binding::ClientOf;
using nfswalk::c_binding::CredentialOrMounters;
using nfswalk::c_binding::FlagsOf;
using nfswalk::c_binding::Guarded;
using nfswalk::c_binding::kAllFlags;
using nfswalk::c_binding::OriginOf;
using nfswalk::c_binding::ResultOf;

namespace {

// Paths at once: what they lead to stays in the processor's caches until it is stored.
constexpr size_t kPartMax = 2048;

// `run(begin, paths, values)` is a batch of OriginOf(from), of paths[begin] and the next ones;
// `take(i, value)` stores a success. Returns how many there are.
template <class Value, class From, class Run, class Take>
ssize_t RunBatch(From* from, const char* const* paths, size_t count, unsigned flags, int* results,
                 Run run, Take take) {
  if (from == nullptr || paths == nullptr || results == nullptr) return -EFAULT;
  if ((flags & ~kAllFlags) != 0) return -EINVAL;
  for (size_t i = 0; i < count; ++i) {
    if (paths[i] == nullptr) return -EFAULT;
  }
  return Guarded([&]() -> ssize_t {
    std::vector<std::string_view> names(std::min(count, kPartMax));
    std::vector<Result<Value>> values(names.size());
    ssize_t found = 0;
    for (size_t begin = 0; begin < count; begin += names.size()) {
      const size_t part = std::min(names.size(), count - begin);
      std::copy_n(paths + begin, part, names.begin());
      try {
        run(begin, std::span(names).first(part), std::span(values).first(part));
      } catch (const std::bad_alloc&) {  // the parts before are done
        std::fill_n(values.begin(), part, std::unexpected(std::errc::not_enough_memory));
      }
      for (size_t i = 0; i < part; ++i) {
        int& result = results[begin + i];
        result = values[i] ? take(begin + i, *values[i]) : ResultOf(values[i].error());
        found += result == 0;
      }
    }
    return found;
  });
}

template <class From>
ssize_t StatEach(From* from, const char* const* paths, size_t count,
                 const nfswalk_credential* credential, unsigned flags, nfswalk_attributes* out,
                 int* results) {
  if (out == nullptr) return -EFAULT;
  return RunBatch<Attributes>(
      from, paths, count, flags, results,
      [&](size_t /*begin*/, auto names, auto values) {
        OriginOf(from)->StatEach(names, CredentialOrMounters(*ClientOf(from), credential), values,
                                 FlagsOf(flags));
      },
      [&](size_t i, const Attributes& found) {
        out[i] = AttributesOf(found);
        return 0;
      });
}

template <class From>
ssize_t ResolveEach(From* from, const char* const* paths, size_t count,
                    const nfswalk_credential* credential, unsigned flags, nfswalk_node** out,
                    int* results) {
  if (out == nullptr) return -EFAULT;
  return RunBatch<std::unique_ptr<Node>>(
      from, paths, count, flags, results,
      [&](size_t /*begin*/, auto names, auto values) {
        OriginOf(from)->ResolveEach(names, CredentialOrMounters(*ClientOf(from), credential),
                                    values, FlagsOf(flags));
      },
      [&](size_t i, std::unique_ptr<Node>& node) {
        auto* made = new (std::nothrow) nfswalk_node{nullptr, ClientOf(from)};
        if (made == nullptr) return -ENOMEM;
        made->node = std::move(node);
        out[i] = made;
        return 0;
      });
}

template <class From>
ssize_t ReadEach(From* from, const char* const* paths, size_t count,
                 const nfswalk_credential* credential, unsigned flags, void* const* buffers,
                 size_t* sizes, int* results) {
  if (buffers == nullptr || sizes == nullptr) return -EFAULT;
  for (size_t i = 0; i < count; ++i) {
    if (buffers[i] == nullptr && sizes[i] != 0) return -EFAULT;
  }
  return RunBatch<size_t>(
      from, paths, count, flags, results,
      [&](size_t begin, auto names, auto values) {
        std::vector<std::span<std::byte>> into(names.size());
        for (size_t i = 0; i < into.size(); ++i) {
          into[i] = {static_cast<std::byte*>(buffers[begin + i]), sizes[begin + i]};
        }
        OriginOf(from)->ReadEach(names, into, CredentialOrMounters(*ClientOf(from), credential),
                                 values, FlagsOf(flags));
      },
      [&](size_t i, size_t bytes) {
        sizes[i] = bytes;
        return 0;
      });
}

}  // namespace

ssize_t nfswalk_stat_each(nfswalk_client* client, const char* const* paths, size_t count,
                          const nfswalk_credential* credential, unsigned flags,
                          nfswalk_attributes* attributes, int* results) {
  return StatEach(client, paths, count, credential, flags, attributes, results);
}

ssize_t nfswalk_stat_each_at(const nfswalk_node* from, const char* const* paths, size_t count,
                             const nfswalk_credential* credential, unsigned flags,
                             nfswalk_attributes* attributes, int* results) {
  return StatEach(from, paths, count, credential, flags, attributes, results);
}

ssize_t nfswalk_resolve_each(nfswalk_client* client, const char* const* paths, size_t count,
                             const nfswalk_credential* credential, unsigned flags,
                             nfswalk_node** nodes, int* results) {
  return ResolveEach(client, paths, count, credential, flags, nodes, results);
}

ssize_t nfswalk_resolve_each_at(const nfswalk_node* from, const char* const* paths, size_t count,
                                const nfswalk_credential* credential, unsigned flags,
                                nfswalk_node** nodes, int* results) {
  return ResolveEach(from, paths, count, credential, flags, nodes, results);
}

ssize_t nfswalk_read_each(nfswalk_client* client, const char* const* paths, size_t count,
                          const nfswalk_credential* credential, unsigned flags,
                          void* const* buffers, size_t* sizes, int* results) {
  return ReadEach(client, paths, count, credential, flags, buffers, sizes, results);
}

ssize_t nfswalk_read_each_at(const nfswalk_node* from, const char* const* paths, size_t count,
                             const nfswalk_credential* credential, unsigned flags,
                             void* const* buffers, size_t* sizes, int* results) {
  return ReadEach(from, paths, count, credential, flags, buffers, sizes, results);
}

int nfswalk_cancellation_create(nfswalk_cancellation** cancellation) {
  if (cancellation == nullptr) return -EFAULT;
  return Guarded([&] {
    *cancellation = new nfswalk_cancellation;
    return 0;
  });
}

void nfswalk_cancellation_destroy(nfswalk_cancellation* cancellation) { delete cancellation; }

nfswalk_cancellation* nfswalk_set_cancellation(nfswalk_cancellation* cancellation) {
  static thread_local nfswalk_cancellation* current = nullptr;
  static thread_local std::optional<CancelScope> scope;
  scope.reset();
  if (cancellation != nullptr) scope.emplace(cancellation->cancellation);
  return std::exchange(current, cancellation);
}

int nfswalk_cancel(nfswalk_cancellation* cancellation) {
  if (cancellation == nullptr) return -EFAULT;
  cancellation->cancellation.Cancel();
  return 0;
}
