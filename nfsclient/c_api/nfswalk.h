/* nfswalk: the C API (C99): mounts an NFS export and resolves paths in it from caches read under
 * RCU. The same calls as nfsclient/client.h; nfswalk(3) is the manual page.
 *
 *   char text[512];
 *   nfswalk_client* client;
 *   struct nfswalk_attributes found;
 *   if (nfswalk_mount("nfs://server/export?actimeo=60", &client, text, sizeof text) < 0) {
 *     fprintf(stderr, "%s\n", text);
 *     return 1;
 *   }
 *   int result = nfswalk_stat(client, "usr/include/stdio.h", NULL, 0, &found);  0, or -ENOENT ...
 *   nfswalk_unmount(client);
 *
 * Cost of a call by one thread, a path of 8 names (docs/results.md has the tables):
 *
 *   stat, access, readlink, answered from the caches under RCU       135 ns
 *   all others, and what is not cached                               round trips to the server
 *
 * Conventions, to which the comments below refer by number:
 *
 *  1. Results. Functions that can fail return a negative errno (-ENOENT), otherwise 0 or a count.
 *     errno is not changed. Results behind pointers are written only on success. The errno of a
 * path is that of the system call of the same name: stat(2), access(2), openat2(2) ...
 *  2. Arguments. A NULL that is not allowed is -EFAULT, an unknown flag or bit -EINVAL; nothing has
 *     been done then.
 *  3. Paths are bytes, NUL-terminated, at most 4095, separated by '/', and begin at the export's
 *     root, with a leading '/' or without; in calls that end in _at they begin at a node. Names
 * from a server may contain any byte but '/' and NUL: escape them for a terminal.
 *  4. Identity. Calls are made with a credential; NULL is the process's effective user, group and
 *     supplementary groups at the time of the mount.
 *  5. Ownership. An object returned through a pointer to a pointer is the caller's, to be released
 *     with the function named there, which accepts NULL. Strings and structures passed in are not
 *     used after the call. Arguments of a callback are valid until it returns.
 *  6. Lifetimes. Release a client's nodes, files, directories and queues before the client. A
 * credential may be released once no call that was given it is in progress.
 *  7. Threads. Any number of threads may use one object at once, except to release it: no other
 * call may be in progress then, or follow. Threads started by the library inherit the signal mask
 * of the thread that calls nfswalk_mount, nfswalk_open or nfswalk_queue_create.
 *  8. Waiting. stat, access and readlink take no lock, allocate nothing and store to no memory
 * shared between threads if the caches can answer. Any other call may wait for the server as long
 * as hard/soft, timeo and retrans of the mount allow; with NFSWALK_CACHED it returns -EAGAIN
 * instead.
 *  9. Memory. Without it a call returns -ENOMEM with nothing half done.
 * 10. Callbacks must neither throw nor longjmp out of the library.
 * 11. fork(2). In the child of a process that has mounted, calls return -ECANCELED, nfswalk_mount
 * too; functions that release return at once, run no callback and send nothing. The caches' memory
 * is the child's until exec(2) or its end. The parent is not affected.
 * 12. dlclose(3) does not unload the library (nodelete): threads that have used it run its code
 * when they end.
 * 13. Compatibility. Structures and functions keep layout and meaning within one soname. */
#ifndef NFSWALK_NFSCLIENT_C_API_NFSWALK_H_
#define NFSWALK_NFSCLIENT_C_API_NFSWALK_H_

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#ifdef __cplusplus
extern "C" {
#endif

#define NFSWALK_VERSION_MAJOR 0
#define NFSWALK_VERSION_MINOR 1
#define NFSWALK_VERSION_PATCH 0

/* "0.1.0": the version of the loaded library, not of this header. */
const char* nfswalk_version(void);

typedef struct nfswalk_client nfswalk_client;
typedef struct nfswalk_credential nfswalk_credential;
typedef struct nfswalk_node nfswalk_node;
typedef struct nfswalk_file nfswalk_file;
typedef struct nfswalk_directory nfswalk_directory;
typedef struct nfswalk_queue nfswalk_queue;
typedef struct nfswalk_cancellation nfswalk_cancellation;

/* Mounting. */

/* `url`: nfs://host[:port]/export?option=value&..., options named as in nfs(5): nfswalk(1) lists
 * them. Returns within about ten seconds, hard mounts too. On failure stores in `text` (may be
 * NULL) a sentence that names the error and the way out, truncated to `text_bytes` with its NUL.
 * Release with nfswalk_unmount. */
int nfswalk_mount(const char* url, nfswalk_client** client, char* text, size_t text_bytes);

/* Stops using the server, for good: calls that wait for it, on a hard mount too, and all later ones
 * return -ECANCELED, whatever is cached. A change in progress may or may not have been made. Waits
 * for the server only where files were removed while they were open, to remove their hidden names
 * (see nfswalk_unlink), one second at most. Idempotent; any thread, but no signal handler. */
int nfswalk_shutdown(nfswalk_client* client);

/* Preconditions: conventions 6 and 7. */
void nfswalk_unmount(nfswalk_client* client);

/* An AUTH_SYS identity. `groups`: `count` supplementary groups in the caller's order, at most 65536
 * (-EINVAL), of which the first 16 are sent. Release with nfswalk_credential_destroy. */
int nfswalk_credential_create(uint32_t uid, uint32_t gid, const uint32_t* groups, size_t count,
                              nfswalk_credential** credential);
/* This process as it is now. */
int nfswalk_credential_of_process(nfswalk_credential** credential);
/* AUTH_NONE. */
int nfswalk_credential_create_none(nfswalk_credential** credential);
void nfswalk_credential_destroy(nfswalk_credential* credential);

/* Bounds all later calls of this thread, of any client, hard mounts too: they return -ETIMEDOUT
 * once CLOCK_MONOTONIC is past `monotonic_ns`, and whether a change was made is unknown then. What
 * is cached is still answered. 0: no limit. Returns the previous one. */
uint64_t nfswalk_set_deadline(uint64_t monotonic_ns);

/* Lets other threads end calls of this one. Destroy it when no thread has it set. */
int nfswalk_cancellation_create(nfswalk_cancellation** cancellation);
void nfswalk_cancellation_destroy(nfswalk_cancellation* cancellation);
/* For all later calls of this thread, of any client; NULL: none. Returns the previous one. */
nfswalk_cancellation* nfswalk_set_cancellation(nfswalk_cancellation* cancellation);
/* Ends the calls of the threads that have it set, and their later ones, in -ECANCELED, on hard
 * mounts too; whether a change was made is unknown then. What is cached is still answered. For
 * good: later calls need a fresh one. Does not block; idempotent; any thread, but no signal
 * handler. */
int nfswalk_cancel(nfswalk_cancellation* cancellation);

/* Lookups. */

/* Flags, as AT_SYMLINK_NOFOLLOW and RESOLVE_* of openat2(2). */
#define NFSWALK_NOFOLLOW 0x01u    /* a link as last component is itself the result */
#define NFSWALK_NO_SYMLINKS 0x02u /* -ELOOP if any link would have to be followed */
#define NFSWALK_BENEATH 0x04u     /* -EXDEV where the path leads out of its start */
#define NFSWALK_IN_ROOT 0x08u     /* the path's start is its root; not with BENEATH */
#define NFSWALK_CACHED 0x10u      /* -EAGAIN instead of a call to the server */
#define NFSWALK_STRICT 0x20u      /* linearizable, even if the mount is not */
#define NFSWALK_DONT_CACHE 0x40u  /* for scans: does not keep a file that it caches */

/* Rights, as R_OK, W_OK and X_OK of access(2). */
#define NFSWALK_EXECUTE 1u
#define NFSWALK_WRITE 2u
#define NFSWALK_READ 4u
/* Of nfswalk_open and nfswalk_create_open, beside NFSWALK_WRITE: O_TRUNC. */
#define NFSWALK_TRUNCATE 8u

struct nfswalk_time {
  int64_t seconds; /* since 1970, UTC */
  uint32_t nanoseconds;
  uint32_t reserved; /* 0 */
};

struct nfswalk_attributes {
  uint32_t mode; /* type and permissions as in st_mode: S_ISDIR(mode), mode & 07777 */
  uint32_t nlink;
  uint32_t uid;
  uint32_t gid;
  uint64_t size_bytes;
  uint64_t used_bytes;
  uint32_t rdev_major;
  uint32_t rdev_minor;
  uint64_t fsid;   /* st_dev: the server may have several file systems below the export */
  uint64_t fileid; /* st_ino: with fsid it is one file's */
  uint64_t change; /* differs after each change; compare for equality only */
  struct nfswalk_time atime;
  struct nfswalk_time mtime;
  struct nfswalk_time ctime;
};

int nfswalk_stat(nfswalk_client* client, const char* path, const nfswalk_credential* credential,
                 unsigned flags, struct nfswalk_attributes* attributes);
/* With NFSWALK_NOFOLLOW. */
int nfswalk_lstat(nfswalk_client* client, const char* path, const nfswalk_credential* credential,
                  unsigned flags, struct nfswalk_attributes* attributes);
/* `rights`: bits of NFSWALK_READ, _WRITE and _EXECUTE, 0 for existence. 0, or -EACCES ... */
int nfswalk_access(nfswalk_client* client, const char* path, unsigned rights,
                   const nfswalk_credential* credential, unsigned flags);
/* Stores at most `bytes` of the target, without a NUL, truncated silently; returns their number. */
ssize_t nfswalk_readlink(nfswalk_client* client, const char* path, char* target, size_t bytes,
                         const nfswalk_credential* credential, unsigned flags);

struct nfswalk_space {
  uint64_t total_bytes;
  uint64_t free_bytes;
  uint64_t available_bytes; /* to the caller */
  uint64_t total_files;
  uint64_t free_files;
  uint64_t available_files;
};
/* statfs(2): of the file system that the path leads into; 0 where the server does not say. */
int nfswalk_statfs(nfswalk_client* client, const char* path, const nfswalk_credential* credential,
                   unsigned flags, struct nfswalk_space* space);

/* Extended attributes, of version 4.2 "user.*", of 4 "system.nfs4_acl", of 3 "system.posix_acl_*".
 * `bytes` 0 asks for the size; -ERANGE if it is more than `bytes`. -ENODATA; -EOPNOTSUPP for other
 * names and where the server has none; -EINVAL for what is no ACL, to remove that of version 4. */
ssize_t nfswalk_getxattr(nfswalk_client* client, const char* path, const char* name, void* value,
                         size_t bytes, const nfswalk_credential* credential, unsigned flags);
/* `names`: one after the other, each with its NUL. */
ssize_t nfswalk_listxattr(nfswalk_client* client, const char* path, char* names, size_t bytes,
                          const nfswalk_credential* credential, unsigned flags);
/* `how`: 0, or one of these: -EEXIST, -ENODATA. */
#define NFSWALK_XATTR_CREATE 1u
#define NFSWALK_XATTR_REPLACE 2u
int nfswalk_setxattr(nfswalk_client* client, const char* path, const char* name, const void* value,
                     size_t bytes, unsigned how, const nfswalk_credential* credential,
                     unsigned flags);
int nfswalk_removexattr(nfswalk_client* client, const char* path, const char* name,
                        const nfswalk_credential* credential, unsigned flags);

struct nfswalk_entry {
  const char* name; /* NUL-terminated; never "." or ".." */
  uint64_t fileid; /* d_ino: where a file system is mounted, of the directory below it */
  const struct nfswalk_attributes* attributes; /* NULL where the server sent none */
  uint64_t cookie; /* where nfswalk_directory_read() goes on after it; not 0 */
};
/* Returns 0 to continue. May make other calls, but not change the directory that is read. */
typedef int (*nfswalk_visit)(void* data, const struct nfswalk_entry* entry);
/* Calls `visit` for each entry. Returns 0 also if `visit` stopped it. After an error some entries
 * may have been visited; -ESTALE: the directory was removed meanwhile. */
int nfswalk_readdir(nfswalk_client* client, const char* path, nfswalk_visit visit, void* data,
                    const nfswalk_credential* credential, unsigned flags);

/* opendir(3). Asks the server by the first part of the listing (close-to-open; not with nocto).
 * Release with nfswalk_closedir. */
int nfswalk_opendir(nfswalk_client* client, const char* path, const nfswalk_credential* credential,
                    unsigned flags, nfswalk_directory** directory);
/* Calls `visit` for each entry after the one with this `cookie`; 0: from the beginning, asked for
 * anew. As nfswalk_readdir, but goes on where the caller wants, and keeps the last reply of the
 * server, so that small steps cost no call. A directory that changes meanwhile shows each entry
 * that stays once. `visit` must not read the same nfswalk_directory. */
int nfswalk_directory_read(nfswalk_directory* directory, uint64_t cookie, nfswalk_visit visit,
                           void* data);
void nfswalk_closedir(nfswalk_directory* directory);

/* Where a name leads, for callers with caches of their own. */
struct nfswalk_lookup_result {
  /* NULL: the name does not exist, and the attributes are 0. Else to be released with
   * nfswalk_node_release. */
  nfswalk_node* node;
  struct nfswalk_attributes attributes;
  /* For how long this client would answer the same without the server, unless it learns of a change
   * before; 0: not at all. */
  uint64_t attributes_valid_ns;
  uint64_t name_valid_ns;
};
/* nfswalk_resolve_at and nfswalk_stat_at in one; with NFSWALK_NOFOLLOW. Returns 0 also if the last
 * name does not exist. `name_valid_ns` is 0 if the path does not end with a name ("", ".", "..", or
 * a trailing slash). */
int nfswalk_lookup(nfswalk_client* client, const char* path, const nfswalk_credential* credential,
                   unsigned flags, struct nfswalk_lookup_result* found);
int nfswalk_lookup_at(const nfswalk_node* from, const char* path,
                      const nfswalk_credential* credential, unsigned flags,
                      struct nfswalk_lookup_result* found);
/* The same in an open directory, by the credential that opened it; also within a `visit`, where it
 * needs no call to the server for the entry shown if the listing came with attributes. */
int nfswalk_directory_lookup(nfswalk_directory* directory, const char* name, unsigned flags,
                             struct nfswalk_lookup_result* found);

/* Files. What is written is kept until it is on the server's stable storage, at the latest by
 * nfswalk_fsync() or nfswalk_close(), and sent again if the server restarts. An error of the server
 * about it is reported once to each open file, by the next write, append, fsync or close; that data
 * is lost, as fsync(2) has it. */

/* `rights`: NFSWALK_READ, NFSWALK_WRITE or both; NFSWALK_TRUNCATE. Creates nothing. Release with
 * nfswalk_close, which may wait for a version 4 server. */
int nfswalk_open(nfswalk_client* client, const char* path, unsigned rights,
                 const nfswalk_credential* credential, unsigned flags, nfswalk_file** file);
/* Returns the bytes read, fewer than `bytes` only at the end of the file. Here and in
 * nfswalk_pwrite() -EINVAL if offset_bytes, or offset_bytes + bytes, is above INT64_MAX (pread(2)).
 */
ssize_t nfswalk_pread(nfswalk_file* file, void* into, size_t bytes, uint64_t offset_bytes);
/* Copies `data`, and waits only where too much is in flight; with the option sync until it is on
 * stable storage. */
ssize_t nfswalk_pwrite(nfswalk_file* file, const void* data, size_t bytes, uint64_t offset_bytes);
/* At the end of the file, which the server is asked for (O_APPEND): what one client appends does
 * not overlap; another client may write there in between. -EFBIG where the end would be above
 * INT64_MAX, -EINVAL where `bytes` is. */
ssize_t nfswalk_append(nfswalk_file* file, const void* data, size_t bytes);
/* As of the last reply about the file, with the size that writes gave it since; sends nothing. */
int nfswalk_fstat(nfswalk_file* file, struct nfswalk_attributes* attributes);
/* For callers with a page cache (FUSE's keep_cache): 1 if no change by another client was noticed
 * from an earlier open of the file by `client` until that of `file`; 0 also if unknown. */
int nfswalk_is_unchanged(const nfswalk_file* file);
/* fsync(2): of all that this client has written to the file. -ETIMEDOUT (a deadline) and -ENOMEM
 * lose nothing: call again. */
int nfswalk_fsync(nfswalk_file* file);

/* fallocate(2), of version 4.2: space for a range, with which the file may grow; a hole in it,
 * which leaves the size. -EOPNOTSUPP elsewhere. */
int nfswalk_allocate(nfswalk_file* file, uint64_t offset_bytes, uint64_t bytes);
int nfswalk_punch_hole(nfswalk_file* file, uint64_t offset_bytes, uint64_t bytes);
/* copy_file_range(2) inside the server, of version 4.2: a part of `source` to an offset of `file`.
 * Returns how much was copied, at most 16 MiB; 0 at the end of `source`. -EOPNOTSUPP elsewhere, and
 * where the server has it not; -EXDEV of different clients; -EINVAL onto what is copied. */
int64_t nfswalk_copy_range(nfswalk_file* file, uint64_t offset_bytes, nfswalk_file* source,
                           uint64_t source_offset_bytes, uint64_t bytes);
/* lseek(2): the first data, or hole, from an offset on; -ENXIO where there is none. Before version
 * 4.2 all is data. */
#define NFSWALK_SEEK_DATA 3u
#define NFSWALK_SEEK_HOLE 4u
int64_t nfswalk_seek(nfswalk_file* file, uint64_t offset_bytes, unsigned whence);

/* fcntl(2): advisory locks of `length_bytes` bytes, 0: to the end of the file, wherever that is.
 * `owner` is the lock owner (fl_owner), as a process; it may use several open files of one file,
 * and closing one of them unlocks all that it has there. With version 3 they hold among the open
 * files of the client only (nolock), with version 4 on the server. -EIO by the open file that took
 * a lock which the server has dropped, also of reads and writes, until its owner has unlocked all.
 * -EBADF without the right that `type` needs; -EINVAL if offset_bytes is above INT64_MAX,
 * -EOVERFLOW if the end is. */
#define NFSWALK_READ_LOCK 1u  /* F_RDLCK */
#define NFSWALK_WRITE_LOCK 2u /* F_WRLCK */
/* Waits for other owners (F_SETLKW); -EDEADLK where one of this client waits for this one. */
int nfswalk_lock(nfswalk_file* file, uint64_t owner, unsigned type, uint64_t offset_bytes,
                 uint64_t length_bytes);
/* F_SETLK: -EAGAIN instead. */
int nfswalk_try_lock(nfswalk_file* file, uint64_t owner, unsigned type, uint64_t offset_bytes,
                     uint64_t length_bytes);
int nfswalk_unlock(nfswalk_file* file, uint64_t owner, uint64_t offset_bytes,
                   uint64_t length_bytes);
struct nfswalk_lock_conflict {
  uint32_t type;
  uint32_t has_owner; /* 0: another client has it, or the server does not say who */
  uint64_t owner;
  uint64_t offset_bytes;
  uint64_t length_bytes;
};
/* F_GETLK: 1, and one of the locks that keep nfswalk_try_lock() from it, or 0. */
int nfswalk_test_lock(nfswalk_file* file, uint64_t owner, unsigned type, uint64_t offset_bytes,
                      uint64_t length_bytes, struct nfswalk_lock_conflict* conflict);

/* close(2): as nfswalk_fsync(), and releases `file` whatever it returns. NULL: does nothing. */
int nfswalk_close(nfswalk_file* file);

/* Changes. `mode`: permission bits, no umask is applied. `attributes` may be NULL. */

/* `exclusive`: -EEXIST if the name exists; otherwise an existing file is the result, unchanged. */
int nfswalk_create(nfswalk_client* client, const char* path, unsigned mode, int exclusive,
                   const nfswalk_credential* credential, struct nfswalk_attributes* attributes);
/* nfswalk_create and nfswalk_open in one: open(2) with O_CREAT, or with O_EXCL as well. `rights`,
 * as of nfswalk_open, which a new file has whatever its `mode` says. `found` (may be NULL): its
 * node, NULL if the name has gone meanwhile, and attributes. */
int nfswalk_create_open(nfswalk_client* client, const char* path, unsigned rights, unsigned mode,
                        int exclusive, const nfswalk_credential* credential, nfswalk_file** file,
                        struct nfswalk_lookup_result* found);
int nfswalk_create_open_at(const nfswalk_node* from, const char* path, unsigned rights,
                           unsigned mode, int exclusive, const nfswalk_credential* credential,
                           nfswalk_file** file, struct nfswalk_lookup_result* found);
int nfswalk_mkdir(nfswalk_client* client, const char* path, unsigned mode,
                  const nfswalk_credential* credential, struct nfswalk_attributes* attributes);
int nfswalk_symlink(nfswalk_client* client, const char* target, const char* path,
                    const nfswalk_credential* credential, struct nfswalk_attributes* attributes);
/* mknod(2). `mode`: with S_IFIFO, S_IFSOCK, S_IFCHR or S_IFBLK; other types are -EINVAL. The device
 * numbers are used for the last two. */
int nfswalk_mknod(nfswalk_client* client, const char* path, unsigned mode, uint32_t rdev_major,
                  uint32_t rdev_minor, const nfswalk_credential* credential,
                  struct nfswalk_attributes* attributes);
int nfswalk_link(nfswalk_client* client, const char* existing, const char* path,
                 const nfswalk_credential* credential);
int nfswalk_rename(nfswalk_client* client, const char* from, const char* to,
                   const nfswalk_credential* credential);
/* Where the last name of a file that is open in this client is removed, here or by a rename, the
 * server keeps it under a hidden name, ".nfs" and a number, which no call of this client shows,
 * until the last nfswalk_close(). Until then its directory is not empty. Other clients see it; it
 * stays where this process ends before. */
int nfswalk_unlink(nfswalk_client* client, const char* path, const nfswalk_credential* credential);
int nfswalk_rmdir(nfswalk_client* client, const char* path, const nfswalk_credential* credential);

#define NFSWALK_SET_MODE 0x01u
#define NFSWALK_SET_UID 0x02u
#define NFSWALK_SET_GID 0x04u
#define NFSWALK_SET_SIZE 0x08u
#define NFSWALK_SET_ATIME 0x10u
#define NFSWALK_SET_MTIME 0x20u
#define NFSWALK_SET_ATIME_NOW 0x40u /* the server's clock; not with SET_ATIME */
#define NFSWALK_SET_MTIME_NOW 0x80u
struct nfswalk_changes {
  uint32_t set; /* bits NFSWALK_SET_*: the members that are used */
  uint32_t mode;
  uint32_t uid;
  uint32_t gid;
  uint64_t size_bytes;
  struct nfswalk_time atime;
  struct nfswalk_time mtime;
};
/* chmod(2), chown(2), truncate(2) and utimensat(2): -EINVAL for a size above INT64_MAX. Flags:
 * NOFOLLOW, NO_SYMLINKS, BENEATH, IN_ROOT. */
int nfswalk_setattr(nfswalk_client* client, const char* path, const struct nfswalk_changes* changes,
                    const nfswalk_credential* credential, unsigned flags,
                    struct nfswalk_attributes* attributes);

/* The same of an open file; -EINVAL for a size if it is not open for writing. */
int nfswalk_fsetattr(nfswalk_file* file, const struct nfswalk_changes* changes,
                     struct nfswalk_attributes* attributes);

/* Nodes: resolved files, as descriptors opened with O_PATH. A node follows its file through
 * renames. Once the server has removed the file, calls return -ESTALE as soon as the attribute
 * caches notice.
 *
 * Paths from a node: "" is the node itself. Others begin at the node, which must be a directory
 * (-ENOTDIR), or with '/' at the export's root. ".." and absolute links lead out of the node, as
 * from a working directory. With NFSWALK_BENEATH they are -EXDEV; with NFSWALK_IN_ROOT the node is
 * the root, where ".." ends. If a rename moves a directory out of the node while such a call is in
 * it, it may end in -EAGAIN. */

/* Release with nfswalk_node_release. */
int nfswalk_resolve(nfswalk_client* client, const char* path, const nfswalk_credential* credential,
                    unsigned flags, nfswalk_node** node);
int nfswalk_resolve_at(const nfswalk_node* from, const char* path,
                       const nfswalk_credential* credential, unsigned flags, nfswalk_node** node);

/* Batches: nfswalk_stat and nfswalk_resolve of each of `count` paths. attributes[i] or nodes[i],
 * and results[i], 0 or a negative errno, are those of paths[i]; what failed is not written. What
 * the caches know is answered at once; the rest is asked for together, in no more calls than one by
 * one. Return how many succeeded, or an error of the whole, with nothing written. */
ssize_t nfswalk_stat_each(nfswalk_client* client, const char* const* paths, size_t count,
                          const nfswalk_credential* credential, unsigned flags,
                          struct nfswalk_attributes* attributes, int* results);
ssize_t nfswalk_stat_each_at(const nfswalk_node* from, const char* const* paths, size_t count,
                             const nfswalk_credential* credential, unsigned flags,
                             struct nfswalk_attributes* attributes, int* results);
ssize_t nfswalk_resolve_each(nfswalk_client* client, const char* const* paths, size_t count,
                             const nfswalk_credential* credential, unsigned flags,
                             nfswalk_node** nodes, int* results);
ssize_t nfswalk_resolve_each_at(const nfswalk_node* from, const char* const* paths, size_t count,
                                const nfswalk_credential* credential, unsigned flags,
                                nfswalk_node** nodes, int* results);
/* nfswalk_open, nfswalk_pread at 0 and nfswalk_close of each. sizes[i]: the room in buffers[i],
 * then how much of the file was stored there, less than all of that only at its end. A file of no
 * more than rsize bytes costs one READ; many are in flight at the same time. */
ssize_t nfswalk_read_each(nfswalk_client* client, const char* const* paths, size_t count,
                          const nfswalk_credential* credential, unsigned flags,
                          void* const* buffers, size_t* sizes, int* results);
ssize_t nfswalk_read_each_at(const nfswalk_node* from, const char* const* paths, size_t count,
                             const nfswalk_credential* credential, unsigned flags,
                             void* const* buffers, size_t* sizes, int* results);

int nfswalk_stat_at(const nfswalk_node* from, const char* path,
                    const nfswalk_credential* credential, unsigned flags,
                    struct nfswalk_attributes* attributes);
int nfswalk_access_at(const nfswalk_node* from, const char* path, unsigned rights,
                      const nfswalk_credential* credential, unsigned flags);
ssize_t nfswalk_readlink_at(const nfswalk_node* from, const char* path, char* target, size_t bytes,
                            const nfswalk_credential* credential, unsigned flags);
int nfswalk_readdir_at(const nfswalk_node* from, const char* path, nfswalk_visit visit, void* data,
                       const nfswalk_credential* credential, unsigned flags);
int nfswalk_opendir_at(const nfswalk_node* from, const char* path,
                       const nfswalk_credential* credential, unsigned flags,
                       nfswalk_directory** directory);
/* "" by handle, or in version 4.0 by the name that the node has now: -ESTALE if another client has
 * renamed it since. */
int nfswalk_open_at(const nfswalk_node* from, const char* path, unsigned rights,
                    const nfswalk_credential* credential, unsigned flags, nfswalk_file** file);
int nfswalk_statfs_at(const nfswalk_node* from, const char* path,
                      const nfswalk_credential* credential, unsigned flags,
                      struct nfswalk_space* space);
ssize_t nfswalk_getxattr_at(const nfswalk_node* from, const char* path, const char* name,
                            void* value, size_t bytes, const nfswalk_credential* credential,
                            unsigned flags);
ssize_t nfswalk_listxattr_at(const nfswalk_node* from, const char* path, char* names, size_t bytes,
                             const nfswalk_credential* credential, unsigned flags);
int nfswalk_setxattr_at(const nfswalk_node* from, const char* path, const char* name,
                        const void* value, size_t bytes, unsigned how,
                        const nfswalk_credential* credential, unsigned flags);
int nfswalk_removexattr_at(const nfswalk_node* from, const char* path, const char* name,
                           const nfswalk_credential* credential, unsigned flags);
/* Changes: -ENOENT for "", but as `existing` and of setattr. */
int nfswalk_create_at(const nfswalk_node* from, const char* path, unsigned mode, int exclusive,
                      const nfswalk_credential* credential, struct nfswalk_attributes* attributes);
int nfswalk_mkdir_at(const nfswalk_node* from, const char* path, unsigned mode,
                     const nfswalk_credential* credential, struct nfswalk_attributes* attributes);
int nfswalk_symlink_at(const nfswalk_node* from, const char* target, const char* path,
                       const nfswalk_credential* credential, struct nfswalk_attributes* attributes);
int nfswalk_mknod_at(const nfswalk_node* from, const char* path, unsigned mode, uint32_t rdev_major,
                     uint32_t rdev_minor, const nfswalk_credential* credential,
                     struct nfswalk_attributes* attributes);
/* Both nodes are of one client (-EXDEV). */
int nfswalk_link_at(const nfswalk_node* from, const char* existing, const nfswalk_node* to,
                    const char* path, const nfswalk_credential* credential);
int nfswalk_rename_at(const nfswalk_node* from, const char* path, const nfswalk_node* to,
                      const char* new_path, const nfswalk_credential* credential);
int nfswalk_unlink_at(const nfswalk_node* from, const char* path,
                      const nfswalk_credential* credential);
int nfswalk_rmdir_at(const nfswalk_node* from, const char* path,
                     const nfswalk_credential* credential);
int nfswalk_setattr_at(const nfswalk_node* from, const char* path,
                       const struct nfswalk_changes* changes, const nfswalk_credential* credential,
                       unsigned flags, struct nfswalk_attributes* attributes);
/* As renameat2(2); -EINVAL for any flag, as NFS has none of them. */
int nfswalk_rename2_at(const nfswalk_node* from, const char* path, const nfswalk_node* to,
                       const char* new_path, unsigned flags, const nfswalk_credential* credential);

/* Equal for all nodes of one file, whatever name they were resolved by, through renames and
 * evictions; of no other file, also of none that had the same fileid before. A key that may outlive
 * the node. */
struct nfswalk_node_id {
  uint64_t fileid;     /* st_ino */
  uint64_t generation; /* a hash of the file handle */
};
int nfswalk_node_get_id(const nfswalk_node* node, struct nfswalk_node_id* id);
void nfswalk_node_release(nfswalk_node* node);

/* The caches. */

/* Drops every entry that is not in use, and what the server allows whom: it is asked again after an
 * hour, or when attributes have changed, while a change of groups on the server shows in none. */
int nfswalk_drop_caches(nfswalk_client* client);
/* Keeps everything, and revalidates each entry with the server before its next use: for callers
 * that know that another client has changed the export. */
int nfswalk_invalidate_caches(nfswalk_client* client);

/* What nfswalk_on_invalidation() tells. */
#define NFSWALK_INVALID_CHANGED 0u /* another client changed the file, or the directory's names */
#define NFSWALK_INVALID_ATTRIBUTES 1u /* its owner or mode, and nothing else */
#define NFSWALK_INVALID_NAME 2u  /* `name` in the directory `node` leads elsewhere, or nowhere */
#define NFSWALK_INVALID_STALE 3u /* the server no longer knows the file */
#define NFSWALK_INVALID_EVERYTHING 4u /* events were lost: all nodes */

struct nfswalk_invalidation {
  uint32_t reason;
  uint32_t reserved; /* 0 */
  struct nfswalk_node_id node;
  const char* name; /* NUL-terminated; "" but for INVALID_NAME */
};
typedef void (*nfswalk_invalidation_callback)(void* data, const struct nfswalk_invalidation* event);
/* For callers with caches of their own: calls `callback` for each node or name of which the client
 * learns that another client has changed it, or that the server has forgotten it; also for own
 * changes whose reply does not prove that nothing else changed. Not for what merely times out
 * (nfswalk_lookup_result) or is evicted. A thread of its own makes the calls, one at a time and
 * with no lock held; they may make any call but this one (-EDEADLK) and nfswalk_unmount(). One
 * INVALID_EVERYTHING replaces more than `queue_max` events that wait. Replaces the callback before,
 * which is not called any more on return; NULL: none. -EINVAL for a `queue_max` of 0; -EAGAIN
 * without a thread. */
int nfswalk_on_invalidation(nfswalk_client* client, nfswalk_invalidation_callback callback,
                            void* data, size_t queue_max);

struct nfswalk_stats {
  uint64_t rcu_walks; /* walks that ended in RCU-walk */
  uint64_t ref_walks; /* walks that ended in ref-walk */
  uint64_t path_hits; /* of rcu_walks: began at a prefix from the path cache */
  uint64_t rpcs;      /* calls sent to the server */
  uint64_t dentries;  /* entries in the caches now */
  uint64_t inodes;
  uint64_t access_entries;
  uint64_t credentials;
  uint64_t dentries_max; /* the limits of three of them now; lower after memory was short */
  uint64_t inodes_max;
  uint64_t access_entries_max;
  /* Where those come from that the URL leaves open: "physical" memory, "cgroup" or "rlimit";
   * "options" if it leaves none. A constant. */
  const char* limits_from;
  uint64_t shrinks;        /* how often memory was short */
  uint64_t shrunk_objects; /* dentries, inodes and access entries given up then */
};
/* Exact when no call is in progress. */
int nfswalk_stats(nfswalk_client* client, struct nfswalk_stats* stats);

/* Callbacks, for event loops.
 *
 * nfswalk_queue_stat(), _access() and _readlink() never wait: cached results are looked up at once,
 * in the calling thread; the queue's own threads make the calls that wait. Either way the callback
 * runs later, in nfswalk_queue_dispatch(), in the thread that calls it. (For a cached result
 * without a callback, make the synchronous call with NFSWALK_CACHED first.)
 *
 * The callback of each call that returned 0 runs exactly once; that of a call that returned an
 * error never. Results are delivered in the order of their completion. Callbacks may make any call
 * but nfswalk_queue_destroy() and nfswalk_unmount(). `from`, if not NULL, is the node where the
 * path begins; it must not be released before the callback has run. The path and the credential are
 * copied. */

/* `threads`: 1 to 256 (-EINVAL), the number of calls that can wait for the server at once. -EAGAIN
 * if they cannot be started, -EMFILE without descriptors. Release with nfswalk_queue_destroy. */
int nfswalk_queue_create(nfswalk_client* client, unsigned threads, nfswalk_queue** queue);

/* A descriptor that is readable exactly while results wait for nfswalk_queue_dispatch(): for
 * epoll(7) and poll(2), level or edge triggered. The queue's: neither read nor close it. */
int nfswalk_queue_fd(const nfswalk_queue* queue);

/* `result`: 0, and the attributes; or an error, and NULL. */
typedef void (*nfswalk_stat_callback)(void* data, int result,
                                      const struct nfswalk_attributes* attributes);
typedef void (*nfswalk_access_callback)(void* data, int result);
/* `result`: the length of the target, which is NUL-terminated; or an error, and NULL. */
typedef void (*nfswalk_readlink_callback)(void* data, ssize_t result, const char* target);

int nfswalk_queue_stat(nfswalk_queue* queue, const nfswalk_node* from, const char* path,
                       const nfswalk_credential* credential, unsigned flags,
                       nfswalk_stat_callback callback, void* data);
int nfswalk_queue_access(nfswalk_queue* queue, const nfswalk_node* from, const char* path,
                         unsigned rights, const nfswalk_credential* credential, unsigned flags,
                         nfswalk_access_callback callback, void* data);
int nfswalk_queue_readlink(nfswalk_queue* queue, const nfswalk_node* from, const char* path,
                           const nfswalk_credential* credential, unsigned flags,
                           nfswalk_readlink_callback callback, void* data);

/* Runs the callbacks of at most `max` results (0: all that are there now); returns how many. Does
 * not wait. */
int nfswalk_queue_dispatch(nfswalk_queue* queue, unsigned max);

/* Cancels calls that have not begun (-ECANCELED) and waits for those in progress: on a hard mount
 * as long as the server is away, unless nfswalk_shutdown() is called. Runs every remaining callback
 * before it returns; they cannot submit calls (-ECANCELED). */
void nfswalk_queue_destroy(nfswalk_queue* queue);

#ifdef __cplusplus
}
#endif

#endif /* NFSWALK_NFSCLIENT_C_API_NFSWALK_H_ */
