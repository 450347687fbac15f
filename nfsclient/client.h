// client: mount an NFS export and look at it, as fast as memory allows.
//
//   auto client = nfswalk::Client::Mount(*nfswalk::ParseMountUrl("nfs://server/export"));
//   auto attributes = (*client)->Stat("usr/include/stdio.h", nfswalk::Credential::OfProcess());
//
// Thread safety: all calls on one Client may be made from any number of threads at once; destroy it
// when none is inside, its Nodes and Files before it. Shutdown() makes those that are inside come
// out. A call that is answered from the caches (Stat, Access, ReadLink in an rcu-*
// walk mode) takes no lock, allocates nothing and stores to no shared memory; any other may wait
// for the server as long as the mount's hard/soft, timeo and retrans say.
//
// Paths: bytes, at most 4095, '/' separated, resolved from the export's root whether or not they
// begin with '/'; symbolic links as path_resolution(7) has them, absolute ones from the export's
// root. Errors: the errno that the system call of the same name gives (stat(2), access(2),
// openat2(2), ...); ESTALE is protocol::kStale. No exception leaves this API.
//
// Memory: where there is none, a call ends in not_enough_memory (ENOMEM) with nothing half done: no
// change was sent to the server, no reference is left, and the same call succeeds once there is
// some. What merely finds no room in a cache is no error. A call that RCU mode cannot answer
// without memory goes on with references. DropCaches(), InvalidateCaches() and the destructor need
// none. What the threads of liburcu and of the connections cannot do without ends the process.
#ifndef NFSWALK_NFSCLIENT_CLIENT_H_
#define NFSWALK_NFSCLIENT_CLIENT_H_

#include <cstddef>
#include <cstdint>
#include <expected>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <system_error>

#include "access_cache/access_rights.h"
#include "nfsclient/nfs/mount_options.h"
#include "nfsclient/nfs/stats.h"
#include "nfsclient/protocol/protocol.h"
#include "sunrpc_auth/credential.h"

namespace nfswalk {

using protocol::Attributes;
using protocol::DirectoryEntry;
using protocol::SetAttributes;
using sunrpc_auth::Credential;

template <typename T>
using Result = std::expected<T, std::errc>;

// openat2(2) RESOLVE_*, plus AT_SYMLINK_NOFOLLOW.
struct ResolveFlags {
  bool no_follow = false;    // a symbolic link in last place is itself the result
  bool no_symlinks = false;  // ELOOP if any link would have to be followed
  bool beneath = false;      // EXDEV for absolute paths, absolute links and `..` at the root
  bool in_root = false;      // as after chroot: those stay inside the root
  bool cached = false;       // EAGAIN (errc::resource_unavailable_try_again) instead of an RPC
  bool strict = false;       // this call is linearizable even where the mount is not
  bool dont_cache = false;   // for scans: a file this call brings into the caches leaves with it
};

// Bits of access(2).
inline constexpr uint32_t kMayExecute = access_cache::kMayExec;
inline constexpr uint32_t kMayWrite = access_cache::kMayWrite;
inline constexpr uint32_t kMayRead = access_cache::kMayRead;

struct MountError {
  std::errc error{};
  std::string message;  // what, where, and what to do
};

class Superblock;

// An open file: the handle is pinned, data is not cached. Must not outlive its Client.
class File;

// A file, directory or link that stays resolved. Must not outlive its Client.
class Node;

class Client {
 public:
  // Contacts the server. Bounded by TransportOptions::mount_timeout_ms.
  static std::expected<std::unique_ptr<Client>, MountError> Mount(const MountOptions& options);
  // The same over a Protocol of the caller's (fault injection).
  static std::expected<std::unique_ptr<Client>, MountError> MountOver(
      std::unique_ptr<protocol::Protocol> protocol, const MountOptions& options);
  ~Client();
  Client(const Client&) = delete;
  Client& operator=(const Client&) = delete;

  [[nodiscard]] Result<Attributes> Stat(std::string_view path, const Credential& credential,
                                        ResolveFlags flags = {});
  // mode: kMay* bits, 0 asks for existence only. errc{} or permission_denied among others.
  [[nodiscard]] std::errc Access(std::string_view path, uint32_t mode, const Credential& credential,
                                 ResolveFlags flags = {});
  // Copies at most into.size() bytes, as readlink(2): no NUL, cut without an error; returns their
  // count.
  [[nodiscard]] Result<size_t> ReadLink(std::string_view path, std::span<char> into,
                                        const Credential& credential, ResolveFlags flags = {});

  // Calls `visit` for each entry, without "." and "..", until it returns false. Attributes and
  // handles are present where the server sent them. After an error some entries may have been seen;
  // ESTALE: the directory was removed meanwhile.
  [[nodiscard]] std::errc ReadDir(std::string_view path, const Credential& credential,
                                  const std::function<bool(const DirectoryEntry&)>& visit,
                                  ResolveFlags flags = {});

  // Opens by permission check alone (kMayRead, kMayWrite); close-to-open unless nocto.
  [[nodiscard]] Result<std::unique_ptr<File>> Open(std::string_view path, uint32_t mode,
                                                   const Credential& credential,
                                                   ResolveFlags flags = {});

  // Changing operations. `mode`: permission bits. All update the caches with the reply's weak cache
  // consistency data, so that our own changes do not cost the siblings their validity.
  [[nodiscard]] Result<Attributes> Create(std::string_view path, uint32_t mode, bool exclusive,
                                          const Credential& credential);
  [[nodiscard]] Result<Attributes> MakeDirectory(std::string_view path, uint32_t mode,
                                                 const Credential& credential);
  [[nodiscard]] Result<Attributes> MakeSymlink(std::string_view target, std::string_view path,
                                               const Credential& credential);
  [[nodiscard]] std::errc Link(std::string_view existing, std::string_view path,
                               const Credential& credential);
  [[nodiscard]] std::errc Rename(std::string_view from, std::string_view to,
                                 const Credential& credential);
  [[nodiscard]] std::errc Unlink(std::string_view path, const Credential& credential);
  [[nodiscard]] std::errc RemoveDirectory(std::string_view path, const Credential& credential);
  [[nodiscard]] Result<Attributes> SetAttributesOf(std::string_view path,
                                                   const SetAttributes& attributes,
                                                   const Credential& credential,
                                                   ResolveFlags flags = {});

  // Resolves once, for calls relative to the result later. Needs no right to the file itself, as
  // open(2) with O_PATH.
  [[nodiscard]] Result<std::unique_ptr<Node>> Resolve(std::string_view path,
                                                      const Credential& credential,
                                                      ResolveFlags flags = {});

  // Ends the use of the server, for good: calls that wait for it, on a hard mount too, end in
  // operation_canceled (ECANCELED), and so do all that come later, whatever the caches know; those
  // of Files and Nodes alike. A call in progress that does not need the server may still succeed. A
  // change that was under way may have been made or not. DropCaches(), InvalidateCaches() and
  // stats() go on working. Does not block, may be called again, from any thread.
  void Shutdown();

  // Forgets what nobody uses: dentries, inodes, access rights.
  void DropCaches();
  // Keeps everything, but believes none of it until the server has confirmed it: for a caller who
  // knows that others have just changed the export.
  void InvalidateCaches();

  Stats stats() const;

 private:
  friend struct ClientInternals;  // for tests that look behind the calls

  explicit Client(std::unique_ptr<Superblock> superblock);
  std::unique_ptr<Superblock> superblock_;
};

class File {
 public:
  virtual ~File() = default;
  [[nodiscard]] virtual Result<size_t> PRead(std::span<std::byte> into, uint64_t offset_bytes) = 0;
  // Returns when the data is on the server's stable storage.
  [[nodiscard]] virtual Result<size_t> PWrite(std::span<const std::byte> data,
                                              uint64_t offset_bytes) = 0;
  virtual Attributes attributes() const = 0;
};

// What a path led to: a reference on it, as a descriptor opened with O_PATH is. It stays with the
// file through renames, and DropCaches() does not drop it. Once the server has no such file any
// more, calls end in ESTALE as soon as the attribute caches let them find out; to go on, resolve
// anew.
//
// Paths: "" is the node itself (AT_EMPTY_PATH: also a link that no_follow kept). Others begin at
// the node, which must be a directory (ENOTDIR), or with '/' at the export's root. `..` and
// absolute links lead out of the node, up to the export's root, as from a working directory. Not
// with `beneath`: EXDEV for them and for absolute paths; nor with `in_root`, where the node is the
// root that absolute paths and links begin at and `..` ends at. If a rename moves a directory out
// of the node while such a walk is in it, `..` ends in EAGAIN, as openat2(2) has it.
//
// The other errors and flags, and what is answered without a lock, are those of Client's calls of
// the same name. Threads do not remember the way to directories below a node as they do from the
// root (`path_hits` of Stats): every name is looked up in the cache.
//
// Thread safety: all calls at once from any number of threads; destroy it when none is inside.
class Node {
 public:
  virtual ~Node() = default;
  [[nodiscard]] virtual Result<Attributes> Stat(std::string_view path, const Credential& credential,
                                                ResolveFlags flags = {}) const = 0;
  [[nodiscard]] virtual std::errc Access(std::string_view path, uint32_t mode,
                                         const Credential& credential,
                                         ResolveFlags flags = {}) const = 0;
  [[nodiscard]] virtual Result<size_t> ReadLink(std::string_view path, std::span<char> into,
                                                const Credential& credential,
                                                ResolveFlags flags = {}) const = 0;
  [[nodiscard]] virtual std::errc ReadDir(std::string_view path, const Credential& credential,
                                          const std::function<bool(const DirectoryEntry&)>& visit,
                                          ResolveFlags flags = {}) const = 0;
  // ENOENT for "": a file is opened by its name.
  [[nodiscard]] virtual Result<std::unique_ptr<File>> Open(std::string_view path, uint32_t mode,
                                                           const Credential& credential,
                                                           ResolveFlags flags = {}) const = 0;
  [[nodiscard]] virtual Result<std::unique_ptr<Node>> Resolve(std::string_view path,
                                                              const Credential& credential,
                                                              ResolveFlags flags = {}) const = 0;
};

}  // namespace nfswalk

#endif  // NFSWALK_NFSCLIENT_CLIENT_H_
