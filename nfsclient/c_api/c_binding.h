// c_binding: the objects behind nfswalk.h's opaque types, and conversions between C and C++ values.
#ifndef NFSWALK_NFSCLIENT_C_API_C_BINDING_H_
#define NFSWALK_NFSCLIENT_C_API_C_BINDING_H_

#include <cerrno>
#include <memory>
#include <new>
#include <system_error>
#include <utility>

#include "nfsclient/c_api/nfswalk.h"
#include "nfsclient/client.h"

struct nfswalk_client {
  std::unique_ptr<nfswalk::Client> client;
  nfswalk::Credential mounter;
};
struct nfswalk_credential {
  nfswalk::Credential value;
};
struct nfswalk_node {
  std::unique_ptr<nfswalk::Node> node;
  nfswalk_client* client;
};
struct nfswalk_directory {
  std::unique_ptr<nfswalk::Directory> directory;
  nfswalk_client* client;
};
struct nfswalk_file {
  std::unique_ptr<nfswalk::File> file;
};

struct nfswalk_cancellation {
  nfswalk::Cancellation cancellation;
};

namespace nfswalk::c_binding {

inline constexpr unsigned kAllFlags = NFSWALK_NOFOLLOW | NFSWALK_NO_SYMLINKS | NFSWALK_BENEATH |
                                      NFSWALK_IN_ROOT | NFSWALK_CACHED | NFSWALK_STRICT |
                                      NFSWALK_DONT_CACHE;

inline int ResultOf(std::errc error) { return -static_cast<int>(error); }

inline ResolveFlags FlagsOf(unsigned flags) {
  return {.no_follow = (flags & NFSWALK_NOFOLLOW) != 0,
          .no_symlinks = (flags & NFSWALK_NO_SYMLINKS) != 0,
          .beneath = (flags & NFSWALK_BENEATH) != 0,
          .in_root = (flags & NFSWALK_IN_ROOT) != 0,
          .cached = (flags & NFSWALK_CACHED) != 0,
          .strict = (flags & NFSWALK_STRICT) != 0,
          .dont_cache = (flags & NFSWALK_DONT_CACHE) != 0};
}

inline const Credential& CredentialOrMounters(const nfswalk_client& client,
                                              const nfswalk_credential* credential) {
  return credential != nullptr ? credential->value : client.mounter;
}

// Client and Node, which have calls of the same names.
inline Client* OriginOf(nfswalk_client* client) { return client->client.get(); }
inline const Node* OriginOf(const nfswalk_node* node) { return node->node.get(); }
inline nfswalk_client* ClientOf(nfswalk_client* client) { return client; }
inline nfswalk_client* ClientOf(const nfswalk_node* node) { return node->client; }

inline nfswalk_time TimeOf(const protocol::Time& time) {
  return {time.seconds, time.nanoseconds, 0};
}

inline nfswalk_attributes AttributesOf(const Attributes& from) {
  return {.mode = static_cast<uint32_t>(from.type) << 12 | from.mode,
          .nlink = from.nlink,
          .uid = from.uid,
          .gid = from.gid,
          .size_bytes = from.size_bytes,
          .used_bytes = from.used_bytes,
          .rdev_major = from.rdev_major,
          .rdev_minor = from.rdev_minor,
          .fsid = from.fsid,
          .fileid = from.fileid,
          .change = from.change,
          .atime = TimeOf(from.atime),
          .mtime = TimeOf(from.mtime),
          .ctime = TimeOf(from.ctime)};
}

inline nfswalk_lookup_result FoundOf(LookupResult from, nfswalk_client* client) {
  nfswalk_lookup_result found{.node = nullptr,
                              .attributes = AttributesOf(from.attributes),
                              .attributes_valid_ns = from.attributes_valid_ns,
                              .name_valid_ns = from.name_valid_ns};
  if (from.node != nullptr) found.node = new nfswalk_node{std::move(from.node), client};
  return found;
}

// Runs `call`, which answers 0, a count or a negative errno; turns exceptions into errnos.
template <class Call>
auto Guarded(Call&& call) noexcept -> decltype(call()) try {
  return call();
} catch (const std::bad_alloc&) {
  return -ENOMEM;
} catch (const std::system_error& error) {
  return -error.code().value();
}

// Returns `made` to C in a Handle.
template <class Handle, class Made, class... More>
int HandOut(Result<std::unique_ptr<Made>> made, Handle** out, More... more) {
  if (!made) return ResultOf(made.error());
  *out = new Handle{std::move(*made), more...};
  return 0;
}

}  // namespace nfswalk::c_binding

#endif  // NFSWALK_NFSCLIENT_C_API_C_BINDING_H_
