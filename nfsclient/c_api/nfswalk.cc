// The calls of nfswalk.h that wait for their answer, but for the changes.

#include "nfsclient/c_api/nfswalk.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "nfsclient/c_api/c_binding.h"
#include "rcu/fork.h"

using nfswalk::Client;
using nfswalk::Credential;
using nfswalk::MountError;
using nfswalk::Node;
using nfswalk::ResolveFlags;
using nfswalk::Result;
using nfswalk::c_binding::AttributesOf;
using nfswalk::c_binding::ClientOf;
using nfswalk::c_binding::CredentialOrMounters;
using nfswalk::c_binding::FlagsOf;
using nfswalk::c_binding::FoundOf;
using nfswalk::c_binding::Guarded;
using nfswalk::c_binding::HandOut;
using nfswalk::c_binding::kAllFlags;
using nfswalk::c_binding::OriginOf;
using nfswalk::c_binding::ResultOf;

namespace {

constexpr size_t kGroupsMax = 65536;  // NGROUPS_MAX

void Explain(std::string_view why, char* text, size_t text_bytes) {
  if (text == nullptr || text_bytes == 0) return;
  const size_t length = std::min(why.size(), text_bytes - 1);
  std::memcpy(text, why.data(), length);
  text[length] = '\0';
}

int MountInto(const char* url, nfswalk_client** out, char* text, size_t text_bytes) {
  auto options = nfswalk::ParseMountUrl(url);
  if (!options) {
    Explain(options.error(), text, text_bytes);
    return -EINVAL;
  }
  Credential mounter = Credential::OfProcess();
  auto client = Client::Mount(*options);
  if (!client) {
    Explain(client.error().message, text, text_bytes);
    return ResultOf(client.error().error);
  }
  *out = new nfswalk_client{std::move(*client), std::move(mounter)};
  return 0;
}

int NewCredential(Credential value, nfswalk_credential** out) {
  *out = new nfswalk_credential{std::move(value)};
  return 0;
}

template <class From>
int Stat(From* from, const char* path, const nfswalk_credential* credential, unsigned flags,
         nfswalk_attributes* out) {
  if (from == nullptr || path == nullptr || out == nullptr) return -EFAULT;
  if ((flags & ~kAllFlags) != 0) return -EINVAL;
  return Guarded([&] {
    auto found = OriginOf(from)->Stat(path, CredentialOrMounters(*ClientOf(from), credential),
                                      FlagsOf(flags));
    if (!found) return ResultOf(found.error());
    *out = AttributesOf(*found);
    return 0;
  });
}

template <class From>
int Access(From* from, const char* path, unsigned rights, const nfswalk_credential* credential,
           unsigned flags) {
  if (from == nullptr || path == nullptr) return -EFAULT;
  if ((flags & ~kAllFlags) != 0) return -EINVAL;
  return Guarded([&] {
    return ResultOf(OriginOf(from)->Access(
        path, rights, CredentialOrMounters(*ClientOf(from), credential), FlagsOf(flags)));
  });
}

template <class From>
ssize_t ReadLink(From* from, const char* path, char* target, size_t bytes,
                 const nfswalk_credential* credential, unsigned flags) {
  if (from == nullptr || path == nullptr || target == nullptr) return -EFAULT;
  if ((flags & ~kAllFlags) != 0) return -EINVAL;
  return Guarded([&]() -> ssize_t {
    auto count =
        OriginOf(from)->ReadLink(path, std::span(target, bytes),
                                 CredentialOrMounters(*ClientOf(from), credential), FlagsOf(flags));
    return count ? static_cast<ssize_t>(*count) : ResultOf(count.error());
  });
}

// Shows `visit` an entry; true to go on.
auto Visitor(nfswalk_visit visit, void* data) {
  return [visit, data](const nfswalk::DirectoryEntry& found) {
    nfswalk_entry entry{found.name.c_str(), found.fileid, nullptr, found.cookie};
    nfswalk_attributes attributes;
    if (found.attributes) {
      attributes = AttributesOf(*found.attributes);
      entry.attributes = &attributes;
    }
    return visit(data, &entry) == 0;
  };
}

template <class From>
int ReadDir(From* from, const char* path, nfswalk_visit visit, void* data,
            const nfswalk_credential* credential, unsigned flags) {
  if (from == nullptr || path == nullptr || visit == nullptr) return -EFAULT;
  if ((flags & ~kAllFlags) != 0) return -EINVAL;
  return Guarded([&] {
    return ResultOf(OriginOf(from)->ReadDir(path, CredentialOrMounters(*ClientOf(from), credential),
                                            Visitor(visit, data), FlagsOf(flags)));
  });
}

template <class From>
int OpenDirectory(From* from, const char* path, const nfswalk_credential* credential,
                  unsigned flags, nfswalk_directory** out) {
  if (from == nullptr || path == nullptr || out == nullptr) return -EFAULT;
  if ((flags & ~kAllFlags) != 0) return -EINVAL;
  return Guarded([&] {
    return HandOut(OriginOf(from)->OpenDirectory(
                       path, CredentialOrMounters(*ClientOf(from), credential), FlagsOf(flags)),
                   out, ClientOf(from));
  });
}

template <class From>
int Open(From* from, const char* path, unsigned rights, const nfswalk_credential* credential,
         unsigned flags, nfswalk_file** out) {
  if (from == nullptr || path == nullptr || out == nullptr) return -EFAULT;
  if ((flags & ~kAllFlags) != 0) return -EINVAL;
  return Guarded([&] {
    return HandOut(
        OriginOf(from)->Open(path, rights, CredentialOrMounters(*ClientOf(from), credential),
                             FlagsOf(flags)),
        out);
  });
}

template <class From>
int ResolveNode(From* from, const char* path, const nfswalk_credential* credential, unsigned flags,
                nfswalk_node** out) {
  if (from == nullptr || path == nullptr || out == nullptr) return -EFAULT;
  if ((flags & ~kAllFlags) != 0) return -EINVAL;
  return Guarded([&] {
    return HandOut(OriginOf(from)->Resolve(path, CredentialOrMounters(*ClientOf(from), credential),
                                           FlagsOf(flags)),
                   out, ClientOf(from));
  });
}

int HandOutFound(Result<nfswalk::LookupResult> found, nfswalk_client* client,
                 nfswalk_lookup_result* out) {
  if (!found) return ResultOf(found.error());
  *out = FoundOf(std::move(*found), client);
  if (out->node == nullptr) out->attributes = {};
  return 0;
}

template <class From>
int Lookup(From* from, const char* path, const nfswalk_credential* credential, unsigned flags,
           nfswalk_lookup_result* out) {
  if (from == nullptr || path == nullptr || out == nullptr) return -EFAULT;
  if ((flags & ~kAllFlags) != 0) return -EINVAL;
  return Guarded([&] {
    return HandOutFound(
        OriginOf(from)->Lookup(path, CredentialOrMounters(*ClientOf(from), credential),
                               FlagsOf(flags)),
        ClientOf(from), out);
  });
}

template <class From>
int StatFs(From* from, const char* path, const nfswalk_credential* credential, unsigned flags,
           nfswalk_space* out) {
  if (from == nullptr || path == nullptr || out == nullptr) return -EFAULT;
  if ((flags & ~kAllFlags) != 0) return -EINVAL;
  return Guarded([&] {
    const auto found = OriginOf(from)->GetSpace(
        path, CredentialOrMounters(*ClientOf(from), credential), FlagsOf(flags));
    if (!found) return ResultOf(found.error());
    *out = {found->total_bytes, found->free_bytes, found->available_bytes,
            found->total_files, found->free_files, found->available_files};
    return 0;
  });
}

#define NFSWALK_TEXT(number) #number
#define NFSWALK_DOTTED(major, minor, patch) \
  NFSWALK_TEXT(major) "." NFSWALK_TEXT(minor) "." NFSWALK_TEXT(patch)

}  // namespace

const char* nfswalk_version(void) {
  return NFSWALK_DOTTED(NFSWALK_VERSION_MAJOR, NFSWALK_VERSION_MINOR, NFSWALK_VERSION_PATCH);
}

int nfswalk_mount(const char* url, nfswalk_client** client, char* text, size_t text_bytes) {
  if (url == nullptr || client == nullptr) {
    Explain("no URL, or no place for the client; write nfs://server/export", text, text_bytes);
    return -EFAULT;
  }
  const int result = Guarded([&] { return MountInto(url, client, text, text_bytes); });
  if (result == -ENOMEM) Explain("out of memory", text, text_bytes);
  return result;
}

int nfswalk_shutdown(nfswalk_client* client) {
  if (client == nullptr) return -EFAULT;
  return Guarded([&] {
    client->client->Shutdown();
    return 0;
  });
}

void nfswalk_unmount(nfswalk_client* client) { delete client; }

int nfswalk_credential_create(uint32_t uid, uint32_t gid, const uint32_t* groups, size_t count,
                              nfswalk_credential** credential) {
  if (credential == nullptr || (groups == nullptr && count > 0)) return -EFAULT;
  if (count > kGroupsMax) return -EINVAL;
  return Guarded([&] {
    return NewCredential(Credential(uid, gid, std::vector<uint32_t>(groups, groups + count)),
                         credential);
  });
}

int nfswalk_credential_of_process(nfswalk_credential** credential) {
  if (credential == nullptr) return -EFAULT;
  return Guarded([&] { return NewCredential(Credential::OfProcess(), credential); });
}

int nfswalk_credential_create_none(nfswalk_credential** credential) {
  if (credential == nullptr) return -EFAULT;
  return Guarded([&] { return NewCredential(Credential(), credential); });
}

void nfswalk_credential_destroy(nfswalk_credential* credential) { delete credential; }

uint64_t nfswalk_set_deadline(uint64_t monotonic_ns) {
  using nfswalk::Deadline;
  using std::chrono::nanoseconds;
  static thread_local std::optional<Deadline> deadline;
  const uint64_t before =
      deadline ? static_cast<uint64_t>(Deadline::Current().time_since_epoch() / nanoseconds(1)) : 0;
  deadline.reset();
  constexpr auto kMax = static_cast<uint64_t>(nanoseconds::max().count());
  if (monotonic_ns != 0) {
    deadline.emplace(Deadline::Clock::time_point(nanoseconds(std::min(monotonic_ns, kMax))));
  }
  return before;
}

int nfswalk_stat(nfswalk_client* client, const char* path, const nfswalk_credential* credential,
                 unsigned flags, nfswalk_attributes* attributes) {
  return Stat(client, path, credential, flags, attributes);
}

int nfswalk_stat_at(const nfswalk_node* from, const char* path,
                    const nfswalk_credential* credential, unsigned flags,
                    nfswalk_attributes* attributes) {
  return Stat(from, path, credential, flags, attributes);
}

int nfswalk_lstat(nfswalk_client* client, const char* path, const nfswalk_credential* credential,
                  unsigned flags, nfswalk_attributes* attributes) {
  return Stat(client, path, credential, flags | NFSWALK_NOFOLLOW, attributes);
}

int nfswalk_access(nfswalk_client* client, const char* path, unsigned rights,
                   const nfswalk_credential* credential, unsigned flags) {
  return Access(client, path, rights, credential, flags);
}

int nfswalk_access_at(const nfswalk_node* from, const char* path, unsigned rights,
                      const nfswalk_credential* credential, unsigned flags) {
  return Access(from, path, rights, credential, flags);
}

ssize_t nfswalk_readlink(nfswalk_client* client, const char* path, char* target, size_t bytes,
                         const nfswalk_credential* credential, unsigned flags) {
  return ReadLink(client, path, target, bytes, credential, flags);
}

ssize_t nfswalk_readlink_at(const nfswalk_node* from, const char* path, char* target, size_t bytes,
                            const nfswalk_credential* credential, unsigned flags) {
  return ReadLink(from, path, target, bytes, credential, flags);
}

int nfswalk_readdir(nfswalk_client* client, const char* path, nfswalk_visit visit, void* data,
                    const nfswalk_credential* credential, unsigned flags) {
  return ReadDir(client, path, visit, data, credential, flags);
}

int nfswalk_readdir_at(const nfswalk_node* from, const char* path, nfswalk_visit visit, void* data,
                       const nfswalk_credential* credential, unsigned flags) {
  return ReadDir(from, path, visit, data, credential, flags);
}

int nfswalk_opendir(nfswalk_client* client, const char* path, const nfswalk_credential* credential,
                    unsigned flags, nfswalk_directory** directory) {
  return OpenDirectory(client, path, credential, flags, directory);
}

int nfswalk_opendir_at(const nfswalk_node* from, const char* path,
                       const nfswalk_credential* credential, unsigned flags,
                       nfswalk_directory** directory) {
  return OpenDirectory(from, path, credential, flags, directory);
}

int nfswalk_directory_read(nfswalk_directory* directory, uint64_t cookie, nfswalk_visit visit,
                           void* data) {
  if (directory == nullptr || visit == nullptr) return -EFAULT;
  return Guarded(
      [&] { return ResultOf(directory->directory->Read(cookie, Visitor(visit, data))); });
}

void nfswalk_closedir(nfswalk_directory* directory) { delete directory; }

int nfswalk_open(nfswalk_client* client, const char* path, unsigned rights,
                 const nfswalk_credential* credential, unsigned flags, nfswalk_file** file) {
  return Open(client, path, rights, credential, flags, file);
}

int nfswalk_open_at(const nfswalk_node* from, const char* path, unsigned rights,
                    const nfswalk_credential* credential, unsigned flags, nfswalk_file** file) {
  return Open(from, path, rights, credential, flags, file);
}

ssize_t nfswalk_pread(nfswalk_file* file, void* into, size_t bytes, uint64_t offset_bytes) {
  if (file == nullptr || (into == nullptr && bytes > 0)) return -EFAULT;
  return Guarded([&]() -> ssize_t {
    auto count = file->file->PRead({static_cast<std::byte*>(into), bytes}, offset_bytes);
    return count ? static_cast<ssize_t>(*count) : ResultOf(count.error());
  });
}

ssize_t nfswalk_pwrite(nfswalk_file* file, const void* data, size_t bytes, uint64_t offset_bytes) {
  if (file == nullptr || (data == nullptr && bytes > 0)) return -EFAULT;
  return Guarded([&]() -> ssize_t {
    auto count = file->file->PWrite({static_cast<const std::byte*>(data), bytes}, offset_bytes);
    return count ? static_cast<ssize_t>(*count) : ResultOf(count.error());
  });
}

ssize_t nfswalk_append(nfswalk_file* file, const void* data, size_t bytes) {
  if (file == nullptr || (data == nullptr && bytes > 0)) return -EFAULT;
  return Guarded([&]() -> ssize_t {
    auto count = file->file->Append({static_cast<const std::byte*>(data), bytes});
    return count ? static_cast<ssize_t>(*count) : ResultOf(count.error());
  });
}

int nfswalk_allocate(nfswalk_file* file, uint64_t offset_bytes, uint64_t bytes) {
  if (file == nullptr) return -EFAULT;
  return Guarded([&] { return ResultOf(file->file->Allocate(offset_bytes, bytes)); });
}

int nfswalk_punch_hole(nfswalk_file* file, uint64_t offset_bytes, uint64_t bytes) {
  if (file == nullptr) return -EFAULT;
  return Guarded([&] { return ResultOf(file->file->PunchHole(offset_bytes, bytes)); });
}

int64_t nfswalk_copy_range(nfswalk_file* file, uint64_t offset_bytes, nfswalk_file* source,
                           uint64_t source_offset_bytes, uint64_t bytes) {
  if (file == nullptr || source == nullptr) return -EFAULT;
  return Guarded([&]() -> int64_t {
    const auto copied =
        file->file->CopyFrom(*source->file, source_offset_bytes, offset_bytes, bytes);
    return copied ? static_cast<int64_t>(*copied) : ResultOf(copied.error());
  });
}

int64_t nfswalk_seek(nfswalk_file* file, uint64_t offset_bytes, unsigned whence) {
  if (file == nullptr) return -EFAULT;
  if (whence != NFSWALK_SEEK_DATA && whence != NFSWALK_SEEK_HOLE) return -EINVAL;
  const auto content =
      whence == NFSWALK_SEEK_DATA ? nfswalk::Content::kData : nfswalk::Content::kHole;
  return Guarded([&]() -> int64_t {
    const auto found = file->file->Seek(offset_bytes, content);
    return found ? static_cast<int64_t>(*found) : ResultOf(found.error());
  });
}

int nfswalk_is_unchanged(const nfswalk_file* file) {
  return file == nullptr ? -EFAULT : static_cast<int>(file->file->is_unchanged());
}

int nfswalk_fstat(nfswalk_file* file, nfswalk_attributes* attributes) {
  if (file == nullptr || attributes == nullptr) return -EFAULT;
  if (nfswalk::rcu::InForkedChild()) return -ECANCELED;
  *attributes = AttributesOf(file->file->attributes());
  return 0;
}

int nfswalk_fsync(nfswalk_file* file) {
  if (file == nullptr) return -EFAULT;
  return Guarded([&] { return ResultOf(file->file->Sync()); });
}

int nfswalk_close(nfswalk_file* file) {
  if (file == nullptr) return 0;
  const int result = Guarded([&] { return ResultOf(file->file->Close()); });
  delete file;
  return result;
}

int nfswalk_statfs(nfswalk_client* client, const char* path, const nfswalk_credential* credential,
                   unsigned flags, nfswalk_space* space) {
  return StatFs(client, path, credential, flags, space);
}

int nfswalk_statfs_at(const nfswalk_node* from, const char* path,
                      const nfswalk_credential* credential, unsigned flags, nfswalk_space* space) {
  return StatFs(from, path, credential, flags, space);
}

int nfswalk_resolve(nfswalk_client* client, const char* path, const nfswalk_credential* credential,
                    unsigned flags, nfswalk_node** node) {
  return ResolveNode(client, path, credential, flags, node);
}

int nfswalk_resolve_at(const nfswalk_node* from, const char* path,
                       const nfswalk_credential* credential, unsigned flags, nfswalk_node** node) {
  return ResolveNode(from, path, credential, flags, node);
}

int nfswalk_lookup(nfswalk_client* client, const char* path, const nfswalk_credential* credential,
                   unsigned flags, nfswalk_lookup_result* found) {
  return Lookup(client, path, credential, flags, found);
}

int nfswalk_lookup_at(const nfswalk_node* from, const char* path,
                      const nfswalk_credential* credential, unsigned flags,
                      nfswalk_lookup_result* found) {
  return Lookup(from, path, credential, flags, found);
}

int nfswalk_directory_lookup(nfswalk_directory* directory, const char* name, unsigned flags,
                             nfswalk_lookup_result* found) {
  if (directory == nullptr || name == nullptr || found == nullptr) return -EFAULT;
  if ((flags & ~kAllFlags) != 0) return -EINVAL;
  return Guarded([&] {
    return HandOutFound(directory->directory->Lookup(name, FlagsOf(flags)), directory->client,
                        found);
  });
}

int nfswalk_node_get_id(const nfswalk_node* node, nfswalk_node_id* id) {
  if (node == nullptr || id == nullptr) return -EFAULT;
  if (nfswalk::rcu::InForkedChild()) return -ECANCELED;
  const nfswalk::NodeId value = node->node->id();
  *id = {.fileid = value.fileid, .generation = value.generation};
  return 0;
}

void nfswalk_node_release(nfswalk_node* node) { delete node; }

int nfswalk_drop_caches(nfswalk_client* client) {
  if (client == nullptr) return -EFAULT;
  if (nfswalk::rcu::InForkedChild()) return -ECANCELED;
  return Guarded([&] {
    client->client->DropCaches();
    return 0;
  });
}

int nfswalk_invalidate_caches(nfswalk_client* client) {
  if (client == nullptr) return -EFAULT;
  if (nfswalk::rcu::InForkedChild()) return -ECANCELED;
  return Guarded([&] {
    client->client->InvalidateCaches();
    return 0;
  });
}

int nfswalk_on_invalidation(nfswalk_client* client, nfswalk_invalidation_callback callback,
                            void* data, size_t queue_max) {
  if (client == nullptr) return -EFAULT;
  return Guarded([&] {
    if (callback == nullptr) return ResultOf(client->client->OnInvalidation({}, queue_max));
    return ResultOf(client->client->OnInvalidation(
        [callback, data](const nfswalk::Invalidation& found) {
          const nfswalk_invalidation event{
              .reason = static_cast<uint32_t>(found.reason),
              .reserved = 0,
              .node = {.fileid = found.node.fileid, .generation = found.node.generation},
              .name = found.name.c_str()};
          callback(data, &event);
        },
        queue_max));
  });
}

int nfswalk_stats(nfswalk_client* client, struct nfswalk_stats* stats) {
  if (client == nullptr || stats == nullptr) return -EFAULT;
  return Guarded([&] {
    const nfswalk::Stats now = client->client->stats();
    *stats = {.rcu_walks = now.rcu_walks,
              .ref_walks = now.ref_walks,
              .path_hits = now.path_hits,
              .rpcs = now.rpcs,
              .dentries = now.dentries,
              .inodes = now.inodes,
              .access_entries = now.access_entries,
              .credentials = now.credentials,
              .dentries_max = now.dentries_max,
              .inodes_max = now.inodes_max,
              .access_entries_max = now.access_entries_max,
              .limits_from = nfswalk::LimitSourceName(now.limits_from).data(),
              .shrinks = now.shrinks,
              .shrunk_objects = now.shrunk_objects};
    return 0;
  });
}
