/* stat_server: one thread, one epoll loop, any number of clients, none of which delays another.
 * usage: stat_server URL SOCKET
 * Listens on the UNIX socket SOCKET. A client writes a path on a line and gets "SIZE PATH" or
 * "-ERRNO PATH" back, in order of completion. Ends at the end of standard input.
 */

#define _GNU_SOURCE
#include <errno.h>
#include <nfswalk.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#define LINE_BYTES 4096
#define ANSWER_BYTES (1 << 18)

/* Freed once its connection is closed and its last request has completed. */
struct peer {
  struct peer* next;
  int fd;           /* -1: closed */
  unsigned pending; /* requests */
  size_t filled;
  char line[LINE_BYTES];
  size_t unsent;
  char answers[ANSWER_BYTES];
};

struct request {
  struct peer* peer;
  char path[];
};

static int epoll;
static nfswalk_queue* queue;
static struct peer* peers;

static void free_if_done(struct peer* peer) {
  struct peer** place = &peers;
  if (peer->fd >= 0 || peer->pending > 0) return;
  while (*place != peer) place = &(*place)->next;
  *place = peer->next;
  free(peer);
}

static void close_peer(struct peer* peer) {
  close(peer->fd);
  peer->fd = -1;
}

/* Sends without blocking; the rest follows on EPOLLOUT. */
static void send_answers(struct peer* peer) {
  const ssize_t sent = send(peer->fd, peer->answers, peer->unsent, MSG_NOSIGNAL | MSG_DONTWAIT);
  if (sent < 0 && errno != EAGAIN) {
    close_peer(peer);
    return;
  }
  if (sent > 0) {
    peer->unsent -= (size_t)sent;
    memmove(peer->answers, peer->answers + sent, peer->unsent);
  }
  struct epoll_event event = {.events = EPOLLIN, .data.ptr = peer};
  if (peer->unsent > 0) event.events |= EPOLLOUT;
  epoll_ctl(epoll, EPOLL_CTL_MOD, peer->fd, &event);
}

static void answer(void* data, int result, const struct nfswalk_attributes* found) {
  struct request* request = data;
  struct peer* peer = request->peer;
  if (peer->fd >= 0) {
    const size_t room = ANSWER_BYTES - peer->unsent;
    const int length =
        snprintf(peer->answers + peer->unsent, room, "%lld %s\n",
                 result < 0 ? (long long)result : (long long)found->size_bytes, request->path);
    if ((size_t)length >= room) {
      close_peer(peer); /* it does not read its replies */
    } else {
      peer->unsent += (size_t)length;
      send_answers(peer);
    }
  }
  --peer->pending;
  free_if_done(peer);
  free(request);
}

static void submit(struct peer* peer, const char* path) {
  struct request* request = malloc(sizeof *request + strlen(path) + 1);
  if (request == NULL) return;
  request->peer = peer;
  strcpy(request->path, path);
  ++peer->pending;
  const int taken = nfswalk_queue_stat(queue, NULL, path, NULL, 0, answer, request);
  if (taken < 0) answer(request, taken, NULL);
}

static void serve(struct peer* peer) {
  ++peer->pending; /* a reply must not free it meanwhile */
  if (peer->unsent > 0) send_answers(peer);
  const ssize_t count = peer->fd < 0 ? 0
                                     : recv(peer->fd, peer->line + peer->filled,
                                            sizeof peer->line - 1 - peer->filled, MSG_DONTWAIT);
  if (count > 0) {
    char* line = peer->line;
    peer->filled += (size_t)count;
    peer->line[peer->filled] = '\0';
    for (char* end; (end = strchr(line, '\n')) != NULL; line = end + 1) {
      *end = '\0';
      submit(peer, line);
    }
    peer->filled = strlen(line);
    memmove(peer->line, line, peer->filled + 1);
  }
  const int full = peer->filled == sizeof peer->line - 1; /* longer than any path */
  if (peer->fd >= 0 && (count == 0 || full || (count < 0 && errno != EAGAIN))) close_peer(peer);
  --peer->pending;
  free_if_done(peer);
}

static void watch(int fd, void* what) {
  struct epoll_event event = {.events = EPOLLIN, .data.ptr = what};
  if (epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &event) != 0) {
    perror("epoll_ctl");
    exit(1);
  }
}

static int listen_on(const char* path) {
  struct sockaddr_un address = {.sun_family = AF_UNIX};
  const int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (strlen(path) >= sizeof address.sun_path) {
    fprintf(stderr, "%s: a socket's path has at most %zu bytes\n", path,
            sizeof address.sun_path - 1);
    exit(1);
  }
  strcpy(address.sun_path, path);
  if (fd < 0 || bind(fd, (struct sockaddr*)&address, sizeof address) != 0 || listen(fd, 100) != 0) {
    perror(path);
    exit(1);
  }
  return fd;
}

int main(int argc, char** argv) {
  static int listening, input; /* their addresses identify events */
  char text[512];
  nfswalk_client* client;
  if (argc != 3) return fprintf(stderr, "usage: %s URL SOCKET\n", argv[0]), 2;
  if (nfswalk_mount(argv[1], &client, text, sizeof text) < 0) {
    return fprintf(stderr, "%s\n", text), 3;
  }
  /* At most 32 calls wait for the server at a time; cache hits need no thread. */
  if (nfswalk_queue_create(client, 32, &queue) < 0) return 3;
  epoll = epoll_create1(EPOLL_CLOEXEC);
  listening = listen_on(argv[2]);
  watch(listening, &listening);
  watch(nfswalk_queue_fd(queue), queue);
  watch(input, &input);
  puts("ready");
  fflush(stdout);

  for (int end = 0; !end;) {
    struct epoll_event event;
    if (epoll_wait(epoll, &event, 1, -1) != 1) continue;
    if (event.data.ptr == &listening) {
      const int fd = accept4(listening, NULL, NULL, SOCK_CLOEXEC);
      struct peer* peer = fd >= 0 ? calloc(1, sizeof *peer) : NULL;
      if (peer != NULL) {
        peer->fd = fd;
        peer->next = peers;
        peers = peer;
        watch(fd, peer);
      }
    } else if (event.data.ptr == queue) {
      nfswalk_queue_dispatch(queue, 0);
    } else if (event.data.ptr == &input) {
      end = read(input, text, sizeof text) <= 0;
    } else {
      serve(event.data.ptr);
    }
  }
  for (struct peer *next, *peer = peers; peer != NULL; peer = next) {
    next = peer->next;
    if (peer->fd >= 0) close_peer(peer);
    free_if_done(peer);
  }
  nfswalk_shutdown(client); /* ends calls to a server that does not reply */
  nfswalk_queue_destroy(queue);
  nfswalk_unmount(client);
  return 0;
}
