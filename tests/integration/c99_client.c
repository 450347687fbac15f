/* usage: c99_client URL DIRECTORY
 * Makes every call of nfswalk.h once, from C99. DIRECTORY: an empty directory of the export that
 * user 0 may write to. Exits 0 if every result is right; else prints the line of the check. */

#define _XOPEN_SOURCE 700 /* S_IFIFO */

#include <errno.h>
#include <poll.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#ifdef NFSWALK_INSTALLED
#include <nfswalk.h>
#else
#include "nfsclient/c_api/nfswalk.h"
#endif

#define CHECK(condition)                                                            \
  do {                                                                              \
    if (!(condition)) {                                                             \
      fprintf(stderr, "%s:%d: check failed: %s\n", __FILE__, __LINE__, #condition); \
      exit(1);                                                                      \
    }                                                                               \
  } while (0)

static nfswalk_client* client;
static const char* directory;

/* Returns the path of a name in the test's directory; valid until the next but one call. */
static const char* path(const char* name) {
  static char texts[2][4096];
  static int turn;
  char* text = texts[turn++ % 2];
  snprintf(text, sizeof texts[0], "%s/%s", directory, name);
  return text;
}

static void mounting(const char* url) {
  char text[200];
  CHECK(nfswalk_mount("http://nowhere", &client, text, sizeof text) == -EINVAL);
  CHECK(strstr(text, "nfs://") != NULL);
  CHECK(nfswalk_mount("http://nowhere", &client, text, 4) == -EINVAL && strlen(text) == 3);
  CHECK(nfswalk_mount("http://nowhere", &client, NULL, 0) == -EINVAL);
  const int mounted = nfswalk_mount(url, &client, text, sizeof text);
  if (mounted != 0) fprintf(stderr, "%s\n", text);
  CHECK(mounted == 0);
  CHECK(strcmp(nfswalk_version(), "0.1.0") == 0);
}

static void files(void) {
  struct nfswalk_attributes attributes;
  nfswalk_file* file;
  char data[16];
  CHECK(nfswalk_create(client, path("file"), 0640, 1, NULL, &attributes) == 0);
  CHECK(S_ISREG(attributes.mode) && (attributes.mode & 07777) == 0640);
  CHECK(nfswalk_create(client, path("file"), 0640, 1, NULL, NULL) == -EEXIST);
  CHECK(nfswalk_open(client, path("file"), NFSWALK_READ | NFSWALK_WRITE, NULL, 0, &file) == 0);
  CHECK(nfswalk_pwrite(file, "hello", 5, 0) == 5);
  CHECK(nfswalk_pread(file, data, sizeof data, 1) == 4 && memcmp(data, "ello", 4) == 0);
  CHECK(nfswalk_fstat(file, &attributes) == 0 && attributes.size_bytes == 5);
  CHECK(nfswalk_append(file, "!", 1) == 1 && nfswalk_pread(file, data, 2, 4) == 2);
  CHECK(memcmp(data, "o!", 2) == 0);
  struct nfswalk_changes shorter = {0};
  shorter.set = NFSWALK_SET_SIZE;
  shorter.size_bytes = 3;
  CHECK(nfswalk_fsetattr(file, &shorter, &attributes) == 0 && attributes.size_bytes == 3);
  CHECK(nfswalk_fsync(file) == 0);
  CHECK(nfswalk_seek(file, 1, NFSWALK_SEEK_DATA) == 1);
  CHECK(nfswalk_seek(file, 1, NFSWALK_SEEK_HOLE) == 3);
  CHECK(nfswalk_seek(file, 3, NFSWALK_SEEK_HOLE) == -ENXIO);
  CHECK(nfswalk_seek(file, 0, 0) == -EINVAL);
  CHECK(nfswalk_allocate(file, 0, 0) == -EINVAL && nfswalk_punch_hole(file, 0, 0) == -EINVAL);
  const int allocated = nfswalk_allocate(file, 0, 3);
  CHECK(allocated == 0 || allocated == -EOPNOTSUPP); /* before version 4.2 */
  CHECK(nfswalk_punch_hole(file, 0, 1) == allocated);
  CHECK(nfswalk_copy_range(file, 0, NULL, 0, 1) == -EFAULT);
  const int64_t onto = nfswalk_copy_range(file, 1, file, 0, 2);
  CHECK(onto == -EINVAL || onto == -EOPNOTSUPP);
  const int64_t copied = nfswalk_copy_range(file, 8, file, 0, 3);
  CHECK(copied == 3 || copied == -EOPNOTSUPP);
  CHECK(nfswalk_fsetattr(file, &shorter, &attributes) == 0);
  struct nfswalk_lock_conflict held = {0};
  CHECK(nfswalk_try_lock(file, 1, NFSWALK_WRITE_LOCK, 2, 3) == 0);
  CHECK(nfswalk_try_lock(file, 2, NFSWALK_READ_LOCK, 0, 0) == -EAGAIN);
  CHECK(nfswalk_test_lock(file, 2, NFSWALK_READ_LOCK, 0, 0, &held) == 1);
  CHECK(held.type == NFSWALK_WRITE_LOCK && held.offset_bytes == 2 && held.length_bytes == 3);
  CHECK(held.has_owner == 1 && held.owner == 1);
  CHECK(nfswalk_unlock(file, 1, 0, 0) == 0);
  CHECK(nfswalk_test_lock(file, 2, NFSWALK_READ_LOCK, 0, 0, &held) == 0);
  CHECK(nfswalk_lock(file, 2, NFSWALK_WRITE_LOCK, 0, 0) == 0);
  CHECK(nfswalk_lock(file, 2, 0, 0, 0) == -EINVAL);
  CHECK(nfswalk_lock(file, 2, NFSWALK_READ_LOCK, UINT64_MAX, 0) == -EINVAL);
  CHECK(nfswalk_is_unchanged(file) == 0); /* not opened before */
  CHECK(nfswalk_is_unchanged(NULL) == -EFAULT);
  CHECK(nfswalk_close(file) == 0);
  CHECK(nfswalk_open(client, path("file"), NFSWALK_READ, NULL, 0, &file) == 0);
  CHECK(nfswalk_close(file) == 0);
  const unsigned truncate = NFSWALK_WRITE | NFSWALK_TRUNCATE;
  CHECK(nfswalk_open(client, path("file"), truncate, NULL, 0, &file) == 0);
  CHECK(nfswalk_is_unchanged(file) == 1);
  CHECK(nfswalk_fstat(file, &attributes) == 0 && attributes.size_bytes == 0);
  CHECK(nfswalk_pwrite(file, "hel", 3, 0) == 3);
  CHECK(nfswalk_close(file) == 0);
  CHECK(nfswalk_open(client, path("none"), NFSWALK_READ, NULL, 0, &file) == -ENOENT);

  struct nfswalk_changes changes = {0};
  changes.set = NFSWALK_SET_SIZE | NFSWALK_SET_MODE | NFSWALK_SET_MTIME | NFSWALK_SET_ATIME_NOW;
  changes.size_bytes = 2;
  changes.mode = 0600;
  changes.mtime.seconds = 1000;
  CHECK(nfswalk_setattr(client, path("file"), &changes, NULL, 0, &attributes) == 0);
  CHECK(attributes.size_bytes == 2 && (attributes.mode & 07777) == 0600);
  CHECK(attributes.mtime.seconds == 1000 && attributes.atime.seconds > 1000);
}

static int count(void* data, const struct nfswalk_entry* entry) {
  int* seen = data;
  CHECK(strchr(entry->name, '/') == NULL);
  CHECK(entry->attributes == NULL || entry->attributes->fileid == entry->fileid);
  ++*seen;
  return 0;
}

static int stop(void* data, const struct nfswalk_entry* entry) {
  (void)entry;
  ++*(int*)data;
  return 1;
}

static void names(void) {
  struct nfswalk_attributes attributes;
  char target[16];
  int seen = 0;
  CHECK(nfswalk_mkdir(client, path("dir"), 0755, NULL, NULL) == 0);
  CHECK(nfswalk_symlink(client, "../file", path("dir/link"), NULL, NULL) == 0);
  CHECK(nfswalk_link(client, path("file"), path("dir/second"), NULL) == 0);
  CHECK(nfswalk_stat(client, path("dir/link"), NULL, 0, &attributes) == 0);
  CHECK(S_ISREG(attributes.mode) && attributes.nlink == 2);
  CHECK(nfswalk_lstat(client, path("dir/link"), NULL, 0, &attributes) == 0);
  CHECK(S_ISLNK(attributes.mode));
  CHECK(nfswalk_stat(client, path("dir/link"), NULL, NFSWALK_NO_SYMLINKS, &attributes) == -ELOOP);
  CHECK(nfswalk_stat(client, "/", NULL, NFSWALK_BENEATH, &attributes) == -EXDEV);
  CHECK(nfswalk_readlink(client, path("dir/link"), target, sizeof target, NULL, 0) == 7);
  CHECK(memcmp(target, "../file", 7) == 0);
  CHECK(nfswalk_readlink(client, path("file"), target, sizeof target, NULL, 0) == -EINVAL);
  CHECK(nfswalk_readdir(client, path("dir"), count, &seen, NULL, 0) == 0 && seen == 2);
  CHECK(nfswalk_readdir(client, path("dir"), stop, &seen, NULL, 0) == 0 && seen == 3);
  CHECK(nfswalk_rename(client, path("dir/second"), path("third"), NULL) == 0);
  CHECK(nfswalk_stat(client, path("dir/second"), NULL, 0, &attributes) == -ENOENT);
}

static void identities(void) {
  const uint32_t groups[] = {4, 24};
  nfswalk_credential *other, *process, *none;
  CHECK(nfswalk_credential_create(1000, 1000, groups, 2, &other) == 0);
  CHECK(nfswalk_credential_of_process(&process) == 0);
  CHECK(nfswalk_credential_create_none(&none) == 0);
  CHECK(nfswalk_access(client, path("file"), NFSWALK_READ | NFSWALK_WRITE, process, 0) == 0);
  CHECK(nfswalk_access(client, path("file"), NFSWALK_READ, NULL, 0) == 0);
  CHECK(nfswalk_access(client, path("file"), NFSWALK_READ, other, 0) == -EACCES);
  CHECK(nfswalk_access(client, path("file"), 8, NULL, 0) == -EINVAL);
  nfswalk_credential_destroy(other);
  nfswalk_credential_destroy(process);
  nfswalk_credential_destroy(none);
}

static void nodes(void) {
  struct nfswalk_attributes attributes, other;
  nfswalk_node *node, *link;
  nfswalk_file* file;
  char target[16];
  int seen = 0;
  CHECK(nfswalk_resolve(client, path("dir"), NULL, 0, &node) == 0);
  CHECK(nfswalk_stat_at(node, "", NULL, 0, &attributes) == 0 && S_ISDIR(attributes.mode));
  CHECK(nfswalk_stat_at(node, "../file", NULL, 0, &attributes) == 0);
  CHECK(nfswalk_stat_at(node, "../file", NULL, NFSWALK_BENEATH, &attributes) == -EXDEV);
  CHECK(nfswalk_stat_at(node, "..", NULL, NFSWALK_IN_ROOT, &other) == 0 && S_ISDIR(other.mode));
  CHECK(nfswalk_access_at(node, "link", NFSWALK_READ, NULL, 0) == 0);
  CHECK(nfswalk_readdir_at(node, "", count, &seen, NULL, 0) == 0 && seen == 1);
  CHECK(nfswalk_open_at(node, "link", NFSWALK_READ, NULL, 0, &file) == 0);
  nfswalk_close(file);
  CHECK(nfswalk_open_at(node, "", NFSWALK_READ, NULL, 0, &file) == -EISDIR);
  CHECK(nfswalk_resolve_at(node, "link", NULL, NFSWALK_NOFOLLOW, &link) == 0);
  CHECK(nfswalk_readlink_at(link, "", target, sizeof target, NULL, 0) == 7);
  nfswalk_node_release(link);
  nfswalk_node_release(node);
}

static void deadlines(void) {
  struct nfswalk_attributes attributes;
  CHECK(nfswalk_set_deadline(1) == 0);
  CHECK(nfswalk_stat(client, path("never asked for"), NULL, 0, &attributes) == -ETIMEDOUT);
  CHECK(nfswalk_set_deadline(UINT64_MAX) == 1);
  CHECK(nfswalk_stat(client, path("never asked for"), NULL, 0, &attributes) == -ENOENT);
  CHECK(nfswalk_set_deadline(0) == INT64_MAX);
  CHECK(nfswalk_set_deadline(0) == 0);
}

static void cancellations(void) {
  struct nfswalk_attributes attributes;
  nfswalk_cancellation* cancellation;
  CHECK(nfswalk_cancellation_create(NULL) == -EFAULT && nfswalk_cancel(NULL) == -EFAULT);
  CHECK(nfswalk_cancellation_create(&cancellation) == 0);
  CHECK(nfswalk_set_cancellation(cancellation) == NULL);
  CHECK(nfswalk_stat(client, path("not asked for"), NULL, 0, &attributes) == -ENOENT);
  CHECK(nfswalk_cancel(cancellation) == 0);
  CHECK(nfswalk_stat(client, path("nor this"), NULL, 0, &attributes) == -ECANCELED);
  CHECK(nfswalk_set_cancellation(NULL) == cancellation);
  CHECK(nfswalk_stat(client, path("nor this"), NULL, 0, &attributes) == -ENOENT);
  nfswalk_cancellation_destroy(cancellation);
  nfswalk_cancellation_destroy(NULL);
}

static void batches(void) {
  struct nfswalk_attributes attributes[3] = {{0}};
  nfswalk_node *nodes[3] = {NULL}, *from;
  int results[3];
  const char* paths[3] = {"file", "missing", "."};
  CHECK(nfswalk_resolve(client, path(""), NULL, 0, &from) == 0);
  CHECK(nfswalk_stat_each_at(from, paths, 3, NULL, 0, attributes, results) == 2);
  CHECK(results[0] == 0 && results[1] == -ENOENT && results[2] == 0);
  CHECK(S_ISREG(attributes[0].mode) && attributes[1].mode == 0 && S_ISDIR(attributes[2].mode));
  CHECK(nfswalk_resolve_each_at(from, paths, 3, NULL, 0, nodes, results) == 2);
  CHECK(results[1] == -ENOENT && nodes[1] == NULL);
  CHECK(nfswalk_stat_at(nodes[0], "", NULL, 0, attributes) == 0 && S_ISREG(attributes[0].mode));
  nfswalk_node_release(nodes[0]);
  nfswalk_node_release(nodes[2]);
  char text[2][4] = {"", ""};
  void* const buffers[3] = {text[0], text[1], NULL};
  size_t sizes[3] = {2, 2, 0};
  CHECK(nfswalk_read_each_at(from, paths, 3, NULL, 0, buffers, sizes, results) == 1);
  CHECK(results[0] == 0 && results[1] == -ENOENT && results[2] == -EISDIR);
  CHECK(sizes[0] == 2 && strcmp(text[0], "he") == 0 && sizes[1] == 2 && text[1][0] == '\0');
  sizes[2] = 1;
  CHECK(nfswalk_read_each_at(from, paths, 3, NULL, 0, buffers, sizes, results) == -EFAULT);
  CHECK(nfswalk_read_each_at(from, paths, 1, NULL, 0, NULL, sizes, results) == -EFAULT);
  CHECK(nfswalk_read_each_at(from, paths, 1, NULL, ~0u, buffers, sizes, results) == -EINVAL);
  nfswalk_node_release(from);
  paths[0] = "/";
  CHECK(nfswalk_read_each(client, paths, 1, NULL, 0, buffers, sizes, results) == 0);
  CHECK(results[0] == -EISDIR);
  CHECK(nfswalk_stat_each(client, paths, 1, NULL, 0, attributes, results) == 1);
  CHECK(nfswalk_resolve_each(client, paths, 1, NULL, 0, nodes, results) == 1);
  nfswalk_node_release(nodes[0]);
  CHECK(nfswalk_stat_each(client, paths, 1, NULL, ~0u, attributes, results) == -EINVAL);
  CHECK(nfswalk_stat_each(client, NULL, 1, NULL, 0, attributes, results) == -EFAULT);
  CHECK(nfswalk_stat_each(client, paths, 0, NULL, 0, attributes, results) == 0);
}

static void changes_from_nodes(void) {
  struct nfswalk_attributes attributes;
  struct nfswalk_space space;
  struct nfswalk_changes changes = {0};
  nfswalk_node *from, *to;
  CHECK(nfswalk_mknod(client, path("pipe"), S_IFIFO | 0600, 0, 0, NULL, &attributes) == 0);
  CHECK(S_ISFIFO(attributes.mode) && (attributes.mode & 07777) == 0600);
  CHECK(nfswalk_mknod(client, path("plain"), S_IFREG | 0600, 0, 0, NULL, NULL) == -EINVAL);
  CHECK(nfswalk_unlink(client, path("pipe"), NULL) == 0);
  CHECK(nfswalk_statfs(client, path("file"), NULL, 0, &space) == 0);
  CHECK(space.total_bytes >= space.free_bytes && space.free_bytes >= space.available_bytes);

  CHECK(nfswalk_resolve(client, path("."), NULL, 0, &from) == 0);
  CHECK(nfswalk_mkdir_at(from, "to", 0700, NULL, &attributes) == 0 && S_ISDIR(attributes.mode));
  CHECK(nfswalk_resolve_at(from, "to", NULL, 0, &to) == 0);
  CHECK(nfswalk_create_at(from, "a", 0600, 1, NULL, NULL) == 0);
  CHECK(nfswalk_create_at(from, "a", 0600, 1, NULL, NULL) == -EEXIST);
  CHECK(nfswalk_symlink_at(to, "../a", "l", NULL, NULL) == 0);
  CHECK(nfswalk_mknod_at(to, "null", S_IFCHR | 0666, 1, 3, NULL, &attributes) == 0);
  CHECK(S_ISCHR(attributes.mode) && attributes.rdev_major == 1 && attributes.rdev_minor == 3);
  CHECK(nfswalk_link_at(from, "a", to, "second", NULL) == 0);
  CHECK(nfswalk_rename_at(from, "a", to, "first", NULL) == 0);
  changes.set = NFSWALK_SET_MODE;
  changes.mode = 0400;
  CHECK(nfswalk_setattr_at(to, "first", &changes, NULL, 0, &attributes) == 0);
  CHECK(attributes.nlink == 2 && (attributes.mode & 07777) == 0400);
  CHECK(nfswalk_statfs_at(to, "", NULL, 0, &space) == 0 && space.total_files >= space.free_files);
  CHECK(nfswalk_unlink_at(to, "", NULL) == -ENOENT);
  CHECK(nfswalk_unlink_at(to, "first", NULL) == 0 && nfswalk_unlink_at(to, "second", NULL) == 0);
  CHECK(nfswalk_unlink_at(to, "l", NULL) == 0 && nfswalk_unlink_at(to, "null", NULL) == 0);
  CHECK(nfswalk_rmdir_at(from, "to", NULL) == 0);
  nfswalk_node_release(to);
  nfswalk_node_release(from);
}

static int step(void* data, const struct nfswalk_entry* entry) {
  CHECK(entry->cookie != 0);
  *(uint64_t*)data = entry->cookie;
  return 1;
}

static void directories(void) {
  uint64_t last = 0, cookie = 0;
  int seen = 0;
  nfswalk_node* node;
  nfswalk_directory* opened;
  CHECK(nfswalk_opendir(client, path("file"), NULL, 0, &opened) == -ENOTDIR);
  CHECK(nfswalk_opendir(client, path("."), NULL, 0, &opened) == 0);
  CHECK(nfswalk_directory_read(opened, 0, count, &seen) == 0 && seen > 1);
  for (; seen > 0; --seen, last = cookie) {
    CHECK(nfswalk_directory_read(opened, last, step, &cookie) == 0 && cookie != last);
  }
  CHECK(nfswalk_directory_read(opened, last, step, &cookie) == 0 && cookie == last);
  nfswalk_closedir(opened);
  CHECK(nfswalk_resolve(client, path("dir"), NULL, 0, &node) == 0);
  CHECK(nfswalk_opendir_at(node, "", NULL, 0, &opened) == 0);
  CHECK(nfswalk_directory_read(opened, 0, count, &seen) == 0 && seen == 1);
  nfswalk_closedir(opened);
  nfswalk_node_release(node);
}

static int same(struct nfswalk_node_id a, struct nfswalk_node_id b) {
  return a.fileid == b.fileid && a.generation == b.generation;
}

static void lookups(void) {
  struct nfswalk_lookup_result found, again;
  struct nfswalk_node_id id, other;
  nfswalk_node* node;
  nfswalk_directory* opened;
  nfswalk_file* file;
  char data[8];
  CHECK(nfswalk_lookup(client, path("file"), NULL, 0, &found) == 0 && found.node != NULL);
  CHECK(S_ISREG(found.attributes.mode));
  CHECK(found.name_valid_ns > 0 && found.attributes_valid_ns > 0);
  CHECK(nfswalk_lookup(client, path("file"), NULL, NFSWALK_CACHED, &again) == 0);
  CHECK(nfswalk_node_get_id(found.node, &id) == 0 && id.fileid == found.attributes.fileid);
  CHECK(nfswalk_node_get_id(again.node, &other) == 0 && same(id, other));
  nfswalk_node_release(again.node);
  CHECK(nfswalk_resolve(client, path("third"), NULL, 0, &node) == 0); /* a link of it */
  CHECK(nfswalk_node_get_id(node, &other) == 0 && same(id, other));
  nfswalk_node_release(node);
  nfswalk_node_release(found.node);
  CHECK(nfswalk_lookup(client, path("none"), NULL, 0, &found) == 0 && found.node == NULL);
  CHECK(found.name_valid_ns > 0 && found.attributes_valid_ns == 0 && found.attributes.mode == 0);
  CHECK(nfswalk_lookup(client, path("none/x"), NULL, 0, &found) == -ENOENT);
  CHECK(nfswalk_lookup(client, path("file"), NULL, 0x80u, &found) == -EINVAL);

  CHECK(nfswalk_resolve(client, path("."), NULL, 0, &node) == 0);
  CHECK(nfswalk_lookup_at(node, "file", NULL, 0, &found) == 0 && found.node != NULL);
  nfswalk_node_release(found.node);
  CHECK(nfswalk_opendir_at(node, "", NULL, 0, &opened) == 0);
  CHECK(nfswalk_directory_lookup(opened, "file", 0, &found) == 0 && found.node != NULL);
  nfswalk_node_release(found.node);
  nfswalk_closedir(opened);
  CHECK(nfswalk_rename2_at(node, "file", node, "f2", 1, NULL) == -EINVAL);
  CHECK(nfswalk_rename2_at(node, "file", node, "f2", 0, NULL) == 0);
  CHECK(nfswalk_rename2_at(node, "f2", node, "file", 0, NULL) == 0);

  CHECK(nfswalk_create_open_at(node, "both", NFSWALK_WRITE, 0600, 1, NULL, &file, &found) == 0);
  CHECK(found.node != NULL && (found.attributes.mode & 07777) == 0600);
  CHECK(nfswalk_pwrite(file, "text", 4, 0) == 4);
  nfswalk_close(file);
  nfswalk_node_release(found.node);
  CHECK(nfswalk_create_open(client, path("both"), NFSWALK_READ, 0600, 1, NULL, &file, NULL) ==
        -EEXIST);
  CHECK(nfswalk_create_open(client, path("both"), NFSWALK_READ, 0600, 0, NULL, &file, NULL) == 0);
  CHECK(nfswalk_unlink(client, path("both"), NULL) == 0);
  CHECK(nfswalk_pread(file, data, sizeof data, 0) == 4 && memcmp(data, "text", 4) == 0);
  nfswalk_close(file);
  nfswalk_node_release(node);
}

static int told_everything;
static void told(void* data, const struct nfswalk_invalidation* event) {
  CHECK(data == &told_everything && event->name != NULL && event->reserved == 0);
  if (event->reason == NFSWALK_INVALID_EVERYTHING) {
    __atomic_store_n(&told_everything, 1, __ATOMIC_SEQ_CST);
  }
}

static void invalidations(void) {
  CHECK(nfswalk_on_invalidation(client, told, &told_everything, 0) == -EINVAL);
  CHECK(nfswalk_on_invalidation(client, told, &told_everything, 16) == 0);
  CHECK(nfswalk_invalidate_caches(client) == 0);
  while (!__atomic_load_n(&told_everything, __ATOMIC_SEQ_CST)) sched_yield();
  CHECK(nfswalk_on_invalidation(client, NULL, NULL, 0) == 0);
}

static void caches(void) {
  struct nfswalk_attributes attributes;
  struct nfswalk_stats before, after;
  CHECK(nfswalk_stat(client, path("file"), NULL, 0, &attributes) == 0);
  CHECK(nfswalk_stats(client, &before) == 0);
  CHECK(nfswalk_stat(client, path("file"), NULL, NFSWALK_CACHED, &attributes) == 0);
  CHECK(nfswalk_stats(client, &after) == 0);
  CHECK(after.rpcs == before.rpcs && after.rcu_walks == before.rcu_walks + 1);
  CHECK(nfswalk_invalidate_caches(client) == 0);
  CHECK(nfswalk_stat(client, path("file"), NULL, NFSWALK_CACHED, &attributes) == -EAGAIN);
  CHECK(nfswalk_stat(client, path("file"), NULL, 0, &attributes) == 0);
  CHECK(nfswalk_drop_caches(client) == 0);
  CHECK(nfswalk_stats(client, &after) == 0 && after.dentries < before.dentries);
}

struct answers {
  int stats, accesses, links;
};

static void on_stat(void* data, int result, const struct nfswalk_attributes* attributes) {
  CHECK(result == 0 ? attributes->size_bytes == 2 : result == -ENOENT && attributes == NULL);
  ++((struct answers*)data)->stats;
}

static void on_access(void* data, int result) {
  CHECK(result == 0);
  ++((struct answers*)data)->accesses;
}

static void on_link(void* data, ssize_t result, const char* target) {
  CHECK(result == 7 && strcmp(target, "../file") == 0);
  ++((struct answers*)data)->links;
}

static void queues(void) {
  struct answers answers = {0, 0, 0};
  nfswalk_queue* queue;
  CHECK(nfswalk_queue_create(client, 0, &queue) == -EINVAL);
  CHECK(nfswalk_queue_create(client, 2, &queue) == 0);
  CHECK(nfswalk_queue_dispatch(queue, 0) == 0);
  CHECK(nfswalk_queue_stat(queue, NULL, path("file"), NULL, 0, on_stat, &answers) == 0);
  CHECK(nfswalk_queue_stat(queue, NULL, path("none"), NULL, 0, on_stat, &answers) == 0);
  CHECK(nfswalk_queue_access(queue, NULL, path("file"), NFSWALK_READ, NULL, 0, on_access,
                             &answers) == 0);
  CHECK(nfswalk_queue_readlink(queue, NULL, path("dir/link"), NULL, 0, on_link, &answers) == 0);
  for (int called = 0; called < 4;) {
    struct pollfd ready = {nfswalk_queue_fd(queue), POLLIN, 0};
    CHECK(poll(&ready, 1, -1) == 1);
    called += nfswalk_queue_dispatch(queue, 0);
  }
  CHECK(answers.stats == 2 && answers.accesses == 1 && answers.links == 1);
  CHECK(nfswalk_queue_stat(queue, NULL, path("file"), NULL, 0, on_stat, &answers) == 0);
  nfswalk_queue_dispatch(queue, 1);
  nfswalk_queue_destroy(queue);
  CHECK(answers.stats == 3);
}

static void end(void) {
  struct nfswalk_attributes attributes;
  CHECK(nfswalk_unlink(client, path("dir/link"), NULL) == 0);
  CHECK(nfswalk_rmdir(client, path("dir"), NULL) == 0);
  CHECK(nfswalk_unlink(client, path("third"), NULL) == 0);
  CHECK(nfswalk_unlink(client, path("file"), NULL) == 0);
  CHECK(nfswalk_shutdown(client) == 0);
  CHECK(nfswalk_stat(client, "/", NULL, 0, &attributes) == -ECANCELED);
  nfswalk_unmount(client);
}

int main(int argc, char** argv) {
  if (argc != 3) {
    fprintf(stderr, "usage: %s URL DIRECTORY\n", argv[0]);
    return 2;
  }
  directory = argv[2];
  mounting(argv[1]);
  files();
  names();
  identities();
  nodes();
  deadlines();
  cancellations();
  batches();
  changes_from_nodes();
  directories();
  lookups();
  invalidations();
  /* queues() makes calls with empty caches and, at its end, with warm ones. */
  caches();
  queues();
  end();
  puts("every call of nfswalk.h did what it says");
  return 0;
}
