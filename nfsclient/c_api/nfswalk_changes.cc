// The calls of nfswalk.h that change the export.

#include <sys/stat.h>

#include "nfsclient/c_api/c_binding.h"
#include "nfsclient/c_api/nfswalk.h"

using nfswalk::Attributes;
using nfswalk::Credential;
using nfswalk::Result;
using nfswalk::SetAttributes;
using nfswalk::c_binding::AttributesOf;
using nfswalk::c_binding::ClientOf;
using nfswalk::c_binding::CredentialOrMounters;
using nfswalk::c_binding::FlagsOf;
using nfswalk::c_binding::FoundOf;
using nfswalk::c_binding::Guarded;
using nfswalk::c_binding::OriginOf;
using nfswalk::c_binding::ResultOf;

namespace {

constexpr unsigned kPermissionBits = 07777;
constexpr unsigned kSetattrFlags =
    NFSWALK_NOFOLLOW | NFSWALK_NO_SYMLINKS | NFSWALK_BENEATH | NFSWALK_IN_ROOT;
constexpr unsigned kAllChanges = NFSWALK_SET_MODE | NFSWALK_SET_UID | NFSWALK_SET_GID |
                                 NFSWALK_SET_SIZE | NFSWALK_SET_ATIME | NFSWALK_SET_MTIME |
                                 NFSWALK_SET_ATIME_NOW | NFSWALK_SET_MTIME_NOW;
constexpr uint32_t kNanosecondsPerSecond = 1'000'000'000;

int HandBack(const Result<Attributes>& made, nfswalk_attributes* out) {
  if (!made) return ResultOf(made.error());
  if (out != nullptr) *out = AttributesOf(*made);
  return 0;
}
int HandBack(const Result<nfswalk::LookupResult>& made, nfswalk_attributes* out) {
  if (!made) return ResultOf(made.error());
  if (out != nullptr) *out = AttributesOf(made->attributes);
  return 0;
}

// False for a request that makes no sense.
bool ReadChanges(const nfswalk_changes& from, SetAttributes* to) {
  const auto has = [&](uint32_t bit) { return (from.set & bit) != 0; };
  if ((from.set & ~kAllChanges) != 0) return false;
  if (has(NFSWALK_SET_ATIME) && has(NFSWALK_SET_ATIME_NOW)) return false;
  if (has(NFSWALK_SET_MTIME) && has(NFSWALK_SET_MTIME_NOW)) return false;
  if (has(NFSWALK_SET_MODE)) {
    if (from.mode > kPermissionBits) return false;
    to->mode = from.mode;
  }
  if (has(NFSWALK_SET_UID)) to->uid = from.uid;
  if (has(NFSWALK_SET_GID)) to->gid = from.gid;
  if (has(NFSWALK_SET_SIZE)) to->size_bytes = from.size_bytes;
  const auto read_time = [](const nfswalk_time& time) {
    return nfswalk::protocol::SetTime{nfswalk::protocol::Time{time.seconds, time.nanoseconds}};
  };
  if (has(NFSWALK_SET_ATIME)) to->atime = read_time(from.atime);
  if (has(NFSWALK_SET_MTIME)) to->mtime = read_time(from.mtime);
  if (has(NFSWALK_SET_ATIME_NOW)) to->atime.emplace();
  if (has(NFSWALK_SET_MTIME_NOW)) to->mtime.emplace();
  return (!has(NFSWALK_SET_ATIME) || from.atime.nanoseconds < kNanosecondsPerSecond) &&
         (!has(NFSWALK_SET_MTIME) || from.mtime.nanoseconds < kNanosecondsPerSecond);
}

// A change that makes `path`, by make(origin, credential).
template <class From, class Make>
int MakeBy(From* from, const char* path, const nfswalk_credential* credential,
           nfswalk_attributes* attributes, Make&& make) {
  if (from == nullptr || path == nullptr) return -EFAULT;
  return Guarded([&] {
    return HandBack(make(*OriginOf(from), CredentialOrMounters(*ClientOf(from), credential)),
                    attributes);
  });
}

template <class From>
int Create(From* from, const char* path, unsigned mode, int exclusive,
           const nfswalk_credential* credential, nfswalk_attributes* attributes) {
  return MakeBy(from, path, credential, attributes,
                [&](auto& at, const Credential& who) -> Result<nfswalk::LookupResult> {
                  if (mode > kPermissionBits) return std::unexpected(std::errc::invalid_argument);
                  return at.Create(path, mode, exclusive != 0, who);
                });
}

template <class From>
int CreateOpen(From* from, const char* path, unsigned rights, unsigned mode, int exclusive,
               const nfswalk_credential* credential, nfswalk_file** file,
               nfswalk_lookup_result* found) {
  if (from == nullptr || path == nullptr || file == nullptr) return -EFAULT;
  if (mode > kPermissionBits) return -EINVAL;
  return Guarded([&] {
    auto opened = OriginOf(from)->CreateAndOpen(path, rights, mode, exclusive != 0,
                                                CredentialOrMounters(*ClientOf(from), credential));
    if (!opened) return ResultOf(opened.error());
    auto handle = std::make_unique<nfswalk_file>(nfswalk_file{std::move(opened->file)});
    if (found != nullptr) *found = FoundOf(std::move(opened->found), ClientOf(from));
    *file = handle.release();
    return 0;
  });
}

template <class From>
int MakeDirectory(From* from, const char* path, unsigned mode, const nfswalk_credential* credential,
                  nfswalk_attributes* attributes) {
  return MakeBy(from, path, credential, attributes,
                [&](auto& at, const Credential& who) -> Result<nfswalk::LookupResult> {
                  if (mode > kPermissionBits) return std::unexpected(std::errc::invalid_argument);
                  return at.MakeDirectory(path, mode, who);
                });
}

template <class From>
int MakeSymlink(From* from, const char* target, const char* path,
                const nfswalk_credential* credential, nfswalk_attributes* attributes) {
  if (target == nullptr) return -EFAULT;
  return MakeBy(from, path, credential, attributes,
                [&](auto& at, const Credential& who) { return at.MakeSymlink(target, path, who); });
}

template <class From>
int MakeNode(From* from, const char* path, unsigned mode, nfswalk::Device device,
             const nfswalk_credential* credential, nfswalk_attributes* attributes) {
  return MakeBy(from, path, credential, attributes,
                [&](auto& at, const Credential& who) -> Result<nfswalk::LookupResult> {
                  if (mode > (S_IFMT | kPermissionBits)) {
                    return std::unexpected(std::errc::invalid_argument);
                  }
                  return at.MakeNode(path, static_cast<nfswalk::FileType>((mode & S_IFMT) >> 12),
                                     mode & kPermissionBits, device, who);
                });
}

template <class From>
int Unlink(From* from, const char* path, const nfswalk_credential* credential) {
  if (from == nullptr || path == nullptr) return -EFAULT;
  return Guarded([&] {
    return ResultOf(
        OriginOf(from)->Unlink(path, CredentialOrMounters(*ClientOf(from), credential)));
  });
}

template <class From>
int RemoveDirectory(From* from, const char* path, const nfswalk_credential* credential) {
  if (from == nullptr || path == nullptr) return -EFAULT;
  return Guarded([&] {
    return ResultOf(
        OriginOf(from)->RemoveDirectory(path, CredentialOrMounters(*ClientOf(from), credential)));
  });
}

template <class From>
int SetAttributesOf(From* from, const char* path, const nfswalk_changes* changes,
                    const nfswalk_credential* credential, unsigned flags,
                    nfswalk_attributes* attributes) {
  if (changes == nullptr) return -EFAULT;
  return MakeBy(from, path, credential, attributes,
                [&](auto& at, const Credential& who) -> Result<Attributes> {
                  SetAttributes wanted;
                  if ((flags & ~kSetattrFlags) != 0 || !ReadChanges(*changes, &wanted)) {
                    return std::unexpected(std::errc::invalid_argument);
                  }
                  return at.SetAttributesOf(path, wanted, who, FlagsOf(flags));
                });
}

}  // namespace

int nfswalk_create(nfswalk_client* client, const char* path, unsigned mode, int exclusive,
                   const nfswalk_credential* credential, nfswalk_attributes* attributes) {
  return Create(client, path, mode, exclusive, credential, attributes);
}

int nfswalk_create_at(const nfswalk_node* from, const char* path, unsigned mode, int exclusive,
                      const nfswalk_credential* credential, nfswalk_attributes* attributes) {
  return Create(from, path, mode, exclusive, credential, attributes);
}

int nfswalk_create_open(nfswalk_client* client, const char* path, unsigned rights, unsigned mode,
                        int exclusive, const nfswalk_credential* credential, nfswalk_file** file,
                        nfswalk_lookup_result* found) {
  return CreateOpen(client, path, rights, mode, exclusive, credential, file, found);
}

int nfswalk_create_open_at(const nfswalk_node* from, const char* path, unsigned rights,
                           unsigned mode, int exclusive, const nfswalk_credential* credential,
                           nfswalk_file** file, nfswalk_lookup_result* found) {
  return CreateOpen(from, path, rights, mode, exclusive, credential, file, found);
}

int nfswalk_mkdir(nfswalk_client* client, const char* path, unsigned mode,
                  const nfswalk_credential* credential, nfswalk_attributes* attributes) {
  return MakeDirectory(client, path, mode, credential, attributes);
}

int nfswalk_mkdir_at(const nfswalk_node* from, const char* path, unsigned mode,
                     const nfswalk_credential* credential, nfswalk_attributes* attributes) {
  return MakeDirectory(from, path, mode, credential, attributes);
}

int nfswalk_symlink(nfswalk_client* client, const char* target, const char* path,
                    const nfswalk_credential* credential, nfswalk_attributes* attributes) {
  return MakeSymlink(client, target, path, credential, attributes);
}

int nfswalk_symlink_at(const nfswalk_node* from, const char* target, const char* path,
                       const nfswalk_credential* credential, nfswalk_attributes* attributes) {
  return MakeSymlink(from, target, path, credential, attributes);
}

int nfswalk_mknod(nfswalk_client* client, const char* path, unsigned mode, uint32_t rdev_major,
                  uint32_t rdev_minor, const nfswalk_credential* credential,
                  nfswalk_attributes* attributes) {
  return MakeNode(client, path, mode, {rdev_major, rdev_minor}, credential, attributes);
}

int nfswalk_mknod_at(const nfswalk_node* from, const char* path, unsigned mode, uint32_t rdev_major,
                     uint32_t rdev_minor, const nfswalk_credential* credential,
                     nfswalk_attributes* attributes) {
  return MakeNode(from, path, mode, {rdev_major, rdev_minor}, credential, attributes);
}

int nfswalk_link(nfswalk_client* client, const char* existing, const char* path,
                 const nfswalk_credential* credential) {
  if (client == nullptr || existing == nullptr || path == nullptr) return -EFAULT;
  return Guarded([&] {
    return ResultOf(
        client->client->Link(existing, path, CredentialOrMounters(*client, credential)));
  });
}

int nfswalk_link_at(const nfswalk_node* from, const char* existing, const nfswalk_node* to,
                    const char* path, const nfswalk_credential* credential) {
  if (from == nullptr || existing == nullptr || to == nullptr || path == nullptr) return -EFAULT;
  return Guarded([&] {
    return ResultOf(from->node->Link(existing, *to->node, path,
                                     CredentialOrMounters(*from->client, credential)));
  });
}

int nfswalk_rename(nfswalk_client* client, const char* from, const char* to,
                   const nfswalk_credential* credential) {
  if (client == nullptr || from == nullptr || to == nullptr) return -EFAULT;
  return Guarded([&] {
    return ResultOf(client->client->Rename(from, to, CredentialOrMounters(*client, credential)));
  });
}

int nfswalk_rename_at(const nfswalk_node* from, const char* path, const nfswalk_node* to,
                      const char* new_path, const nfswalk_credential* credential) {
  if (from == nullptr || path == nullptr || to == nullptr || new_path == nullptr) return -EFAULT;
  return Guarded([&] {
    return ResultOf(from->node->Rename(path, *to->node, new_path,
                                       CredentialOrMounters(*from->client, credential)));
  });
}

int nfswalk_rename2_at(const nfswalk_node* from, const char* path, const nfswalk_node* to,
                       const char* new_path, unsigned flags, const nfswalk_credential* credential) {
  if (flags != 0) return -EINVAL;
  return nfswalk_rename_at(from, path, to, new_path, credential);
}

int nfswalk_unlink(nfswalk_client* client, const char* path, const nfswalk_credential* credential) {
  return Unlink(client, path, credential);
}

int nfswalk_unlink_at(const nfswalk_node* from, const char* path,
                      const nfswalk_credential* credential) {
  return Unlink(from, path, credential);
}

int nfswalk_rmdir(nfswalk_client* client, const char* path, const nfswalk_credential* credential) {
  return RemoveDirectory(client, path, credential);
}

int nfswalk_rmdir_at(const nfswalk_node* from, const char* path,
                     const nfswalk_credential* credential) {
  return RemoveDirectory(from, path, credential);
}

int nfswalk_setattr(nfswalk_client* client, const char* path, const nfswalk_changes* changes,
                    const nfswalk_credential* credential, unsigned flags,
                    nfswalk_attributes* attributes) {
  return SetAttributesOf(client, path, changes, credential, flags, attributes);
}

int nfswalk_setattr_at(const nfswalk_node* from, const char* path, const nfswalk_changes* changes,
                       const nfswalk_credential* credential, unsigned flags,
                       nfswalk_attributes* attributes) {
  return SetAttributesOf(from, path, changes, credential, flags, attributes);
}

int nfswalk_fsetattr(nfswalk_file* file, const nfswalk_changes* changes,
                     nfswalk_attributes* attributes) {
  if (file == nullptr || changes == nullptr) return -EFAULT;
  SetAttributes wanted;
  if (!ReadChanges(*changes, &wanted)) return -EINVAL;
  return Guarded([&] { return HandBack(file->file->SetAttributesOf(wanted), attributes); });
}
