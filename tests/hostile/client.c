/* usage: client URL ROUNDS
 *
 * Mounts, and makes each call that reads, of "dir/inner", "link", "file" and the root, so many
 * times with empty caches. Prints what it has seen last. Says what failed on standard error, as
 * "WHAT: strerror(3)". Exit codes: 0, 1 if a call failed, 3 if it did not mount. Stops to list a
 * directory after 100,000 entries. */

#include <errno.h>
#include <nfswalk.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { kEntriesLookedAt = 10, kEntriesMax = 100000 };

static int failed, rounds;

static long checked(const char* what, long result) {
  if (result < 0) {
    fprintf(stderr, "%s: %s\n", what, strerror((int)-result));
    failed = 1;
  }
  return result;
}

struct listing {
  nfswalk_client* client;
  const char* path;
  int seen;
};

static int visit(void* data, const struct nfswalk_entry* entry) {
  struct listing* listing = data;
  struct nfswalk_attributes attributes;
  char path[4096];
  if (strlen(entry->name) == 0 || strchr(entry->name, '/') != NULL) {
    fprintf(stderr, "a name that is none\n");
    failed = 1;
  }
  if (listing->seen < kEntriesLookedAt) {
    snprintf(path, sizeof path, "%s/%s", listing->path, entry->name);
    checked("lstat", nfswalk_lstat(listing->client, path, NULL, 0, &attributes));
  }
  return ++listing->seen == kEntriesMax;
}

static void list(nfswalk_client* client, const char* path) {
  struct listing listing = {client, path, 0};
  const int listed = nfswalk_readdir(client, path, visit, &listing, NULL, 0);
  if (checked("readdir", listed) >= 0 && rounds == 0) {
    printf("%s: %d entries\n", path, listing.seen);
  }
}

static void read_all(nfswalk_client* client, const char* path) {
  static char data[1 << 20];
  nfswalk_file* file;
  unsigned long long total = 0;
  long count;
  if (checked("open", nfswalk_open(client, path, NFSWALK_READ, NULL, 0, &file)) < 0) return;
  while ((count = checked("pread", nfswalk_pread(file, data, sizeof data, total))) > 0) {
    total += (unsigned long long)count;
  }
  nfswalk_close(file);
  if (rounds == 0) printf("%s: %llu bytes\n", path, total);
}

static void look(nfswalk_client* client) {
  struct nfswalk_attributes attributes;
  char text[4096];
  long length;
  if (checked("stat", nfswalk_stat(client, "dir/inner", NULL, 0, &attributes)) >= 0 &&
      rounds == 0) {
    printf("%llu bytes\n", (unsigned long long)attributes.size_bytes);
  }
  checked("lstat", nfswalk_lstat(client, "link", NULL, 0, &attributes));
  checked("access", nfswalk_access(client, "file", NFSWALK_READ, NULL, 0));
  list(client, ".");
  list(client, "dir");
  read_all(client, "file");
  length = checked("readlink", nfswalk_readlink(client, "link", text, sizeof text, NULL, 0));
  if (length >= 0 && rounds == 0) printf("%ld bytes in a link\n", length);
}

int main(int argc, char** argv) {
  nfswalk_client* client;
  if (argc != 3) return 2;
  if (nfswalk_mount(argv[1], &client, NULL, 0) != 0) {
    fprintf(stderr, "mount failed\n");
    return 3;
  }
  for (rounds = atoi(argv[2]); rounds-- > 0;) {
    look(client);
    checked("drop_caches", nfswalk_drop_caches(client));
  }
  nfswalk_unmount(client);
  return failed;
}
