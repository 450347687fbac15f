/* up_to_date: checks whether the targets of a build are up to date.
 * usage: up_to_date URL < LIST
 * Each line of LIST is a target and what it is made of: "out/a.o src/a.c src/a.h". Names targets
 * that are missing or older than something they are made of. Exits 0 if there is none, 1 if there
 * are some. */

#define _POSIX_C_SOURCE 200809L
#include <errno.h>
#include <nfswalk.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int later(struct nfswalk_time a, struct nfswalk_time b) {
  return a.seconds != b.seconds ? a.seconds > b.seconds : a.nanoseconds > b.nanoseconds;
}

/* Returns why the target is outdated, or NULL. strtok() holds its sources, the rest of the line. */
static const char* reason(nfswalk_client* client, const char* target) {
  struct nfswalk_attributes made, source;
  const int error = nfswalk_stat(client, target, NULL, 0, &made);
  if (error != 0) return error == -ENOENT ? "it is missing" : strerror(-error);
  for (char* name = strtok(NULL, " \n"); name != NULL; name = strtok(NULL, " \n")) {
    /* Warm: less than a microsecond, no lock, no system call. */
    if (nfswalk_stat(client, name, NULL, 0, &source) != 0 || later(source.mtime, made.mtime)) {
      return name;
    }
  }
  return NULL;
}

int main(int argc, char** argv) {
  char text[512];
  char* line = NULL;
  size_t bytes = 0;
  int outdated = 0;
  nfswalk_client* client;
  if (argc != 2) return fprintf(stderr, "usage: %s URL < LIST\n", argv[0]), 2;
  if (nfswalk_mount(argv[1], &client, text, sizeof text) < 0) {
    return fprintf(stderr, "%s\n", text), 3;
  }
  while (getline(&line, &bytes, stdin) > 0) {
    const char* target = strtok(line, " \n");
    const char* why = target != NULL ? reason(client, target) : NULL;
    if (why != NULL) {
      printf("%s: %s\n", target, why);
      outdated = 1;
    }
  }
  free(line);
  nfswalk_unmount(client);
  return outdated;
}
