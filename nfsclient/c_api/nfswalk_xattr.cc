// The C API's extended attributes.
#include <cerrno>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include "nfsclient/c_api/c_binding.h"

using nfswalk::Credential;
using nfswalk::XattrMode;
using nfswalk::c_binding::ClientOf;
using nfswalk::c_binding::CredentialOrMounters;
using nfswalk::c_binding::FlagsOf;
using nfswalk::c_binding::Guarded;
using nfswalk::c_binding::kAllFlags;
using nfswalk::c_binding::OriginOf;
using nfswalk::c_binding::ResultOf;

namespace {

// As getxattr(2): a size of 0 asks for the size that is needed.
ssize_t HandOut(std::string_view from, char* into, size_t bytes) {
  if (bytes == 0) return static_cast<ssize_t>(from.size());
  if (from.size() > bytes) return -ERANGE;
  std::memcpy(into, from.data(), from.size());
  return static_cast<ssize_t>(from.size());
}

template <class From>
ssize_t Get(From* from, const char* path, const char* name, void* value, size_t bytes,
            const nfswalk_credential* credential, unsigned flags) {
  const bool has_place = value != nullptr || bytes == 0;
  if (from == nullptr || path == nullptr || name == nullptr || !has_place) return -EFAULT;
  if ((flags & ~kAllFlags) != 0) return -EINVAL;
  return Guarded([&]() -> ssize_t {
    const auto found = OriginOf(from)->GetXattr(
        path, name, CredentialOrMounters(*ClientOf(from), credential), FlagsOf(flags));
    if (!found) return ResultOf(found.error());
    return HandOut(*found, static_cast<char*>(value), bytes);
  });
}

template <class From>
ssize_t List(From* from, const char* path, char* names, size_t bytes,
             const nfswalk_credential* credential, unsigned flags) {
  const bool has_place = names != nullptr || bytes == 0;
  if (from == nullptr || path == nullptr || !has_place) return -EFAULT;
  if ((flags & ~kAllFlags) != 0) return -EINVAL;
  return Guarded([&]() -> ssize_t {
    const auto found = OriginOf(from)->ListXattrs(
        path, CredentialOrMounters(*ClientOf(from), credential), FlagsOf(flags));
    if (!found) return ResultOf(found.error());
    std::string all;
    for (const std::string& name : *found) all.append(name).push_back('\0');
    return HandOut(all, names, bytes);
  });
}

template <class From>
int Set(From* from, const char* path, const char* name, const void* value, size_t bytes,
        unsigned how, const nfswalk_credential* credential, unsigned flags) {
  const bool has_value = value != nullptr || bytes == 0;
  if (from == nullptr || path == nullptr || name == nullptr || !has_value) return -EFAULT;
  if ((flags & ~kAllFlags) != 0 || how > NFSWALK_XATTR_REPLACE) return -EINVAL;
  return Guarded([&] {
    return ResultOf(OriginOf(from)->SetXattr(
        path, name, {static_cast<const char*>(value), bytes}, XattrMode{how},
        CredentialOrMounters(*ClientOf(from), credential), FlagsOf(flags)));
  });
}

template <class From>
int Remove(From* from, const char* path, const char* name, const nfswalk_credential* credential,
           unsigned flags) {
  if (from == nullptr || path == nullptr || name == nullptr) return -EFAULT;
  if ((flags & ~kAllFlags) != 0) return -EINVAL;
  return Guarded([&] {
    return ResultOf(OriginOf(from)->RemoveXattr(
        path, name, CredentialOrMounters(*ClientOf(from), credential), FlagsOf(flags)));
  });
}

}  // namespace

ssize_t nfswalk_getxattr(nfswalk_client* client, const char* path, const char* name, void* value,
                         size_t bytes, const nfswalk_credential* credential, unsigned flags) {
  return Get(client, path, name, value, bytes, credential, flags);
}

ssize_t nfswalk_getxattr_at(const nfswalk_node* from, const char* path, const char* name,
                            void* value, size_t bytes, const nfswalk_credential* credential,
                            unsigned flags) {
  return Get(from, path, name, value, bytes, credential, flags);
}

ssize_t nfswalk_listxattr(nfswalk_client* client, const char* path, char* names, size_t bytes,
                          const nfswalk_credential* credential, unsigned flags) {
  return List(client, path, names, bytes, credential, flags);
}

ssize_t nfswalk_listxattr_at(const nfswalk_node* from, const char* path, char* names, size_t bytes,
                             const nfswalk_credential* credential, unsigned flags) {
  return List(from, path, names, bytes, credential, flags);
}

int nfswalk_setxattr(nfswalk_client* client, const char* path, const char* name, const void* value,
                     size_t bytes, unsigned how, const nfswalk_credential* credential,
                     unsigned flags) {
  return Set(client, path, name, value, bytes, how, credential, flags);
}

int nfswalk_setxattr_at(const nfswalk_node* from, const char* path, const char* name,
                        const void* value, size_t bytes, unsigned how,
                        const nfswalk_credential* credential, unsigned flags) {
  return Set(from, path, name, value, bytes, how, credential, flags);
}

int nfswalk_removexattr(nfswalk_client* client, const char* path, const char* name,
                        const nfswalk_credential* credential, unsigned flags) {
  return Remove(client, path, name, credential, flags);
}

int nfswalk_removexattr_at(const nfswalk_node* from, const char* path, const char* name,
                           const nfswalk_credential* credential, unsigned flags) {
  return Remove(from, path, name, credential, flags);
}
