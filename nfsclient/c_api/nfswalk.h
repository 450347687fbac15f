/* nfswalk: mount an NFS export inside your process and look at it. The same as nfsclient/client.h,
 * for C99 and whatever can call C. See nfswalk(3).
 *
 * Conventions, to which the comments below refer by number:
 *
 *  1. Results. Functions that can fail return a negative errno (-ENOENT), and what is not negative
 *     otherwise. errno is not touched. What a function hands back through a pointer is written only
 *     if it succeeded. The errno of a path is that of the system call of the same name: stat(2),
 *     access(2), openat2(2) ...
 *  2. Arguments. A pointer that must not be NULL is answered with -EFAULT, an unknown flag or a bit
 *     that does not belong with -EINVAL. Nothing has been done then.
 *  3. Paths are bytes, NUL-terminated, at most 4095, '/' separated, and begin at the export's root
 *     whether or not they begin with '/'. In calls that end in _at they begin at a node: see there.
 *     Names that come from a server may hold any byte but '/' and NUL: escape them for a terminal.
 *  4. Identity. Calls are made for a credential; NULL is this process as it was when it mounted:
 * its effective user and group and its groups.
 *  5. Ownership. What a function hands out through a pointer to a pointer is the caller's, to be
 *     given back with the function named there, which takes NULL, too. Strings and structures that
 *     are passed in are not looked at after the call. What is passed to a callback is valid until
 *     the callback returns.
 *  6. Lifetimes. Nodes, files and queues of a client are given back before the client is. A
 *     credential may be given back as soon as no call that got it is inside.
 *  7. Threads. All calls on one object may be made by any number of threads at once, except giving
 *     it back: then nobody else may be inside, or come. Threads that the library starts inherit the
 *     signal mask of the thread that makes them necessary (nfswalk_mount, nfswalk_open,
 *     nfswalk_queue_create).
 *  8. Waiting. A call that the caches can answer takes no lock, allocates nothing and stores to no
 *     memory that threads share (stat, access, readlink). Any other may wait for the server as long
 *     as the mount's hard/soft, timeo and retrans say; with NFSWALK_CACHED it answers -EAGAIN
 *     instead.
 *  9. Memory. Without any, a call ends in -ENOMEM with nothing half done.
 * 10. Callbacks must neither throw nor longjmp out of the library.
 * 11. fork(2). A client is of no use in the child of a fork that does not exec.
 * 12. Compatibility. Structures and functions keep their layout and meaning within one soname. */
#ifndef NFSWALK_NFSCLIENT_NFSWALK_H_
#define NFSWALK_NFSCLIENT_NFSWALK_H_

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#ifdef __cplusplus
extern "C" {
#endif

#define NFSWALK_VERSION_MAJOR 0
#define NFSWALK_VERSION_MINOR 1
#define NFSWALK_VERSION_PATCH 0

/* "0.1.0": of the library that runs, not of this header. */
const char* nfswalk_version(void);

typedef struct nfswalk_client nfswalk_client;
typedef struct nfswalk_credential nfswalk_credential;
typedef struct nfswalk_node nfswalk_node;
typedef struct nfswalk_file nfswalk_file;
typedef struct nfswalk_queue nfswalk_queue;

/* Mounting. */

/* `url`: nfs://host[:port]/export?option=value&..., options named as in nfs(5): nfswalk(1) lists
 * them. Bounded by ten seconds or so, also where the mount is to be hard. If it fails, `text` (may
 * be NULL) gets a sentence that says what is wrong and what to do about it, cut to `text_bytes`
 * with its NUL. Give back with nfswalk_unmount. */
int nfswalk_mount(const char* url, nfswalk_client** client, char* text, size_t text_bytes);

/* Ends the use of the server, for good: calls that wait for it, on a hard mount too, end in
 * -ECANCELED, and so do all that come later, whatever the caches know. A change that was under way
 * may have been made or not. Does not block, may be called again, from any thread. Not from a
 * signal handler. */
int nfswalk_shutdown(nfswalk_client* client);

/* Preconditions: conventions 6 and 7. */
void nfswalk_unmount(nfswalk_client* client);

/* Who asks (AUTH_SYS). `groups`: `count` supplementary groups in the caller's order, at most 65536
 * (-EINVAL); a server is told the first 16. Give back with nfswalk_credential_destroy. */
int nfswalk_credential_create(uint32_t uid, uint32_t gid, const uint32_t* groups, size_t count,
                              nfswalk_credential** credential);
/* This process as it is now. */
int nfswalk_credential_of_process(nfswalk_credential** credential);
/* Nobody in particular (AUTH_NONE). */
int nfswalk_credential_create_none(nfswalk_credential** credential);
void nfswalk_credential_destroy(nfswalk_credential* credential);

/* Looking. */

/* Flags, as AT_SYMLINK_NOFOLLOW and RESOLVE_* of openat2(2). */
#define NFSWALK_NOFOLLOW 0x01u    /* a link in last place is itself the result */
#define NFSWALK_NO_SYMLINKS 0x02u /* -ELOOP if any link would have to be followed */
#define NFSWALK_BENEATH 0x04u     /* -EXDEV where the path leads out of where it begins */
#define NFSWALK_IN_ROOT 0x08u     /* where the path begins is its root; not with BENEATH */
#define NFSWALK_CACHED 0x10u      /* -EAGAIN instead of asking the server */
#define NFSWALK_STRICT 0x20u      /* this call is linearizable even if the mount is not */
#define NFSWALK_DONT_CACHE 0x40u  /* for scans: a file this call brings in leaves with it */

/* Rights, as R_OK, W_OK and X_OK of access(2). */
#define NFSWALK_EXECUTE 1u
#define NFSWALK_WRITE 2u
#define NFSWALK_READ 4u

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
  uint64_t fsid;
  uint64_t fileid; /* st_ino */
  uint64_t change; /* differs when the file was changed; only equality means anything */
  struct nfswalk_time atime;
  struct nfswalk_time mtime;
  struct nfswalk_time ctime;
};

int nfswalk_stat(nfswalk_client* client, const char* path, const nfswalk_credential* who,
                 unsigned flags, struct nfswalk_attributes* attributes);
/* With NFSWALK_NOFOLLOW. */
int nfswalk_lstat(nfswalk_client* client, const char* path, const nfswalk_credential* who,
                  unsigned flags, struct nfswalk_attributes* attributes);
/* `rights`: bits of NFSWALK_READ, _WRITE and _EXECUTE, 0 asks for existence. 0, or -EACCES ... */
int nfswalk_access(nfswalk_client* client, const char* path, unsigned rights,
                   const nfswalk_credential* who, unsigned flags);
/* At most `bytes` of the target, without a NUL and cut without an error; returns their count. */
ssize_t nfswalk_readlink(nfswalk_client* client, const char* path, char* target, size_t bytes,
                         const nfswalk_credential* who, unsigned flags);

struct nfswalk_entry {
  const char* name; /* NUL-terminated; never "." or ".." */
  uint64_t fileid;
  const struct nfswalk_attributes* attributes; /* NULL where the server sent none */
};
/* Goes on while it returns 0. May make other calls, not changes to the directory that is read. */
typedef int (*nfswalk_visit)(void* data, const struct nfswalk_entry* entry);
/* Calls `visit` for each entry. Returns 0 also if `visit` ended it. After an error some entries may
 * have been seen; -ESTALE: the directory was removed meanwhile. */
int nfswalk_readdir(nfswalk_client* client, const char* path, nfswalk_visit visit, void* data,
                    const nfswalk_credential* who, unsigned flags);

/* Files. Data is not cached: a read or a write is one call to the server for each piece. */

/* `rights`: NFSWALK_READ, NFSWALK_WRITE or both. Creates nothing. Give back with nfswalk_close,
 * which may wait for a server of version 4. */
int nfswalk_open(nfswalk_client* client, const char* path, unsigned rights,
                 const nfswalk_credential* who, unsigned flags, nfswalk_file** file);
/* The bytes read: fewer than asked for only at the end of the file. */
ssize_t nfswalk_pread(nfswalk_file* file, void* into, size_t bytes, uint64_t offset_bytes);
/* Returns `bytes` when all of them are on the server's stable storage. */
ssize_t nfswalk_pwrite(nfswalk_file* file, const void* data, size_t bytes, uint64_t offset_bytes);
/* As they were last seen; asks nobody. */
int nfswalk_fstat(nfswalk_file* file, struct nfswalk_attributes* attributes);
void nfswalk_close(nfswalk_file* file);

/* Changing. `mode`: permission bits, no umask is applied. `attributes` may be NULL. */

/* `exclusive`: -EEXIST if the name is there; else an existing file is left as it is. */
int nfswalk_create(nfswalk_client* client, const char* path, unsigned mode, int exclusive,
                   const nfswalk_credential* who, struct nfswalk_attributes* attributes);
int nfswalk_mkdir(nfswalk_client* client, const char* path, unsigned mode,
                  const nfswalk_credential* who, struct nfswalk_attributes* attributes);
int nfswalk_symlink(nfswalk_client* client, const char* target, const char* path,
                    const nfswalk_credential* who, struct nfswalk_attributes* attributes);
int nfswalk_link(nfswalk_client* client, const char* existing, const char* path,
                 const nfswalk_credential* who);
int nfswalk_rename(nfswalk_client* client, const char* from, const char* to,
                   const nfswalk_credential* who);
int nfswalk_unlink(nfswalk_client* client, const char* path, const nfswalk_credential* who);
int nfswalk_rmdir(nfswalk_client* client, const char* path, const nfswalk_credential* who);

#define NFSWALK_SET_MODE 0x01u
#define NFSWALK_SET_UID 0x02u
#define NFSWALK_SET_GID 0x04u
#define NFSWALK_SET_SIZE 0x08u
#define NFSWALK_SET_ATIME 0x10u
#define NFSWALK_SET_MTIME 0x20u
#define NFSWALK_SET_ATIME_NOW 0x40u /* the server's clock; not with SET_ATIME */
#define NFSWALK_SET_MTIME_NOW 0x80u
struct nfswalk_changes {
  uint32_t set; /* bits NFSWALK_SET_*: the rest of the structure is looked at where they say so */
  uint32_t mode;
  uint32_t uid;
  uint32_t gid;
  uint64_t size_bytes;
  struct nfswalk_time atime;
  struct nfswalk_time mtime;
};
/* chmod(2), chown(2), truncate(2) and utimensat(2). Flags: NOFOLLOW, NO_SYMLINKS, BENEATH. */
int nfswalk_setattr(nfswalk_client* client, const char* path, const struct nfswalk_changes* changes,
                    const nfswalk_credential* who, unsigned flags,
                    struct nfswalk_attributes* attributes);

/* Pinned nodes: what a path led to, as a descriptor opened with O_PATH. A node stays with its file
 * through renames. Once the server has no such file any more, calls end in -ESTALE as soon as the
 * attribute caches let them find out; to go on, resolve anew.
 *
 * Paths from a node: "" is the node itself. Others begin at the node, which must be a directory
 * (-ENOTDIR), or with '/' at the export's root. ".." and absolute links lead out of the node, as
 * from a working directory. With NFSWALK_BENEATH they are -EXDEV; with NFSWALK_IN_ROOT the node is
 * the root, where ".." ends. If a rename moves a directory out of the node while such a call is in
 * it, it may end in -EAGAIN. */

/* Give back with nfswalk_node_release. */
int nfswalk_resolve(nfswalk_client* client, const char* path, const nfswalk_credential* who,
                    unsigned flags, nfswalk_node** node);
int nfswalk_resolve_at(const nfswalk_node* from, const char* path, const nfswalk_credential* who,
                       unsigned flags, nfswalk_node** node);
int nfswalk_stat_at(const nfswalk_node* from, const char* path, const nfswalk_credential* who,
                    unsigned flags, struct nfswalk_attributes* attributes);
int nfswalk_access_at(const nfswalk_node* from, const char* path, unsigned rights,
                      const nfswalk_credential* who, unsigned flags);
ssize_t nfswalk_readlink_at(const nfswalk_node* from, const char* path, char* target, size_t bytes,
                            const nfswalk_credential* who, unsigned flags);
int nfswalk_readdir_at(const nfswalk_node* from, const char* path, nfswalk_visit visit, void* data,
                       const nfswalk_credential* who, unsigned flags);
/* -ENOENT for "": a file is opened by its name. */
int nfswalk_open_at(const nfswalk_node* from, const char* path, unsigned rights,
                    const nfswalk_credential* who, unsigned flags, nfswalk_file** file);
void nfswalk_node_release(nfswalk_node* node);

/* The caches. */

/* Forgets what nobody uses. */
int nfswalk_drop_caches(nfswalk_client* client);
/* Keeps everything, but believes none of it until the server has confirmed it: for a caller who
 * knows that others have just changed the export. */
int nfswalk_invalidate_caches(nfswalk_client* client);

struct nfswalk_stats {
  uint64_t rcu_walks; /* walks answered without a lock or a reference */
  uint64_t ref_walks; /* walks that needed references */
  uint64_t path_hits; /* of rcu_walks: began in the directory of their last name */
  uint64_t rpcs;      /* calls sent to the server */
  uint64_t dentries;  /* what the caches hold now */
  uint64_t inodes;
  uint64_t access_entries;
  uint64_t credentials;
};
/* Exact once the threads are quiet, otherwise a little behind. */
int nfswalk_stats(nfswalk_client* client, struct nfswalk_stats* stats);

/* Callbacks, for event loops.
 *
 * nfswalk_queue_stat() and its relatives never wait: what the caches know is looked up at once, in
 * the calling thread; the rest is left to the queue's own threads, which do the waiting. Either way
 * the callback is called later, by nfswalk_queue_dispatch(), in the thread that calls that. (To
 * have a cached answer without any callback, make the synchronous call with NFSWALK_CACHED first.)
 *
 * Every call that returned 0 has its callback called exactly once; one that returned an error has
 * not. Answers come in the order in which they are known. Callbacks may make any call but
 * nfswalk_queue_destroy() and nfswalk_unmount(). `from`, if not NULL, is the node where the path
 * begins; it must not be released before the callback was called. The path and the credential are
 * copied. */

/* `threads`: 1 to 256 (-EINVAL): as many calls can wait for the server at once. -EAGAIN if they
 * cannot be started, -EMFILE for want of descriptors. Give back with nfswalk_queue_destroy. */
int nfswalk_queue_create(nfswalk_client* client, unsigned threads, nfswalk_queue** queue);

/* A descriptor that is readable exactly while answers are there for nfswalk_queue_dispatch(): for
 * epoll(7) and poll(2), level or edge triggered. The queue's: neither read nor close it. */
int nfswalk_queue_fd(const nfswalk_queue* queue);

/* `result`: 0, and the attributes; or an error, and NULL. */
typedef void (*nfswalk_stat_callback)(void* data, int result,
                                      const struct nfswalk_attributes* attributes);
typedef void (*nfswalk_access_callback)(void* data, int result);
/* `result`: the length of the target, which is NUL-terminated; or an error, and NULL. */
typedef void (*nfswalk_readlink_callback)(void* data, ssize_t result, const char* target);

int nfswalk_queue_stat(nfswalk_queue* queue, const nfswalk_node* from, const char* path,
                       const nfswalk_credential* who, unsigned flags,
                       nfswalk_stat_callback callback, void* data);
int nfswalk_queue_access(nfswalk_queue* queue, const nfswalk_node* from, const char* path,
                         unsigned rights, const nfswalk_credential* who, unsigned flags,
                         nfswalk_access_callback callback, void* data);
int nfswalk_queue_readlink(nfswalk_queue* queue, const nfswalk_node* from, const char* path,
                           const nfswalk_credential* who, unsigned flags,
                           nfswalk_readlink_callback callback, void* data);

/* Calls the callbacks of answers that are there, at most `max` (0: all that are there now); returns
 * how many. Does not wait. */
int nfswalk_queue_dispatch(nfswalk_queue* queue, unsigned max);

/* What the threads have not begun ends in -ECANCELED; for what they are in the middle of it waits:
 * on a hard mount as long as the server is away, unless nfswalk_shutdown() is called. Calls every
 * callback that is left before it returns; those cannot queue anything any more (-ECANCELED). */
void nfswalk_queue_destroy(nfswalk_queue* queue);

#ifdef __cplusplus
}
#endif

#endif /* NFSWALK_NFSCLIENT_NFSWALK_H_ */
