/* bare_loops PATH CORE CORE

   Prints an empty line when both ends are connected. Then a line of standard input has a window, 0
   for a ping-pong, a size and a time, ms; the answer has the number of samples, and their median
   and 99th percentile, ns: of one message, one way. Between two lines both ends sleep.

   bare_loops PATH CORE CORE listen: is the other end for another host, and prints its port.
   bare_loops PATH CORE CORE HOST PORT: connects to it. The first line of standard input of either
   is a random word, the same for both: the one that listens talks to nobody who does not know it.

   bare_loops idle CORE...: keeps these cores from halting, until standard input ends, and prints an
   empty line when it does so. Whoever else wants the cores has them. */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <math.h>
#include <netdb.h>
#include <netinet/tcp.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "bare.h"

enum {
  SLOTS = 4,
  MOST_SAMPLES = 100000,
  FEWEST_SAMPLES = 3,
  SMALL = 4096,
  WORD_LENGTH = 32,
  CONNECT_SECONDS = 20
};

_Noreturn void fail(const char* what) {
  perror(what);
  exit(1);
}

/* Pipes: write and read. Sockets: send and recv. A datagram comes in one piece. */
static void write_all(int fd, const char* out, size_t size) {
  for (ssize_t done; size > 0; out += done, size -= done)
    if ((done = write(fd, out, size)) <= 0) fail("write");
}
static void read_all(int fd, char* in, size_t size) {
  for (ssize_t done; size > 0; in += done, size -= done)
    if ((done = read(fd, in, size)) <= 0) fail("read");
}
static void send_all(int fd, const char* out, size_t size) {
  for (ssize_t done; size > 0; out += done, size -= done)
    if ((done = send(fd, out, size, MSG_NOSIGNAL)) <= 0) fail("send");
}
static void recv_all(int fd, char* in, size_t size) {
  for (ssize_t done; size > 0; in += done, size -= done)
    if ((done = recv(fd, in, size, 0)) <= 0) fail("recv");
}

#define LOOPS(kind, SEND, RECV)                                                                \
  static void kind##_pingpong(struct end* end, char* out, char* in, size_t size, long count) { \
    for (long i = 0; i < count; ++i) {                                                         \
      if (end->side == 0) SEND(end->out, out, size);                                           \
      RECV(end->in, in, size);                                                                 \
      if (end->side == 1) SEND(end->out, out, size);                                           \
    }                                                                                          \
  }                                                                                            \
  static void kind##_stream(struct end* end, char* out, char* in, size_t size, long window,    \
                            long count) {                                                      \
    for (long i = 0; i < count; ++i) {                                                         \
      for (long k = 0; k < window; ++k)                                                        \
        end->side == 0 ? SEND(end->out, out, size) : RECV(end->in, in, size);                  \
      end->side == 0 ? RECV(end->in, in, 1) : SEND(end->out, out, 1);                          \
    }                                                                                          \
  }

LOOPS(pipe, write_all, read_all)
LOOPS(socket, send_all, recv_all)

/* Neither end outlives the other. */
static void split(struct end* end) {
  const pid_t parent = getpid();
  int pair[2];
  if (socketpair(AF_UNIX, SOCK_STREAM, 0, pair) != 0) fail("socketpair");
  end_with_children(1);
  const pid_t other = fork();
  if (other < 0) fail("fork");
  end->side = other == 0;
  end->orders = pair[end->side];
  close(pair[!end->side]);
  if (end->side == 0) return;
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent) exit(1);
}

static void pipe_connect(struct end* end) {
  int there[2], back[2];
  if (pipe(there) != 0 || pipe(back) != 0) fail("pipe");
  split(end);
  end->in = (end->side == 0 ? back : there)[0];
  end->out = (end->side == 0 ? there : back)[1];
}

static void unix_connect(struct end* end) {
  int pair[2];
  if (socketpair(AF_UNIX, SOCK_STREAM, 0, pair) != 0) fail("socketpair");
  split(end);
  end->in = end->out = pair[end->side];
}

static int bound(int type, struct sockaddr_in* address, uint32_t to) {
  socklen_t length = sizeof *address;
  *address = (struct sockaddr_in){.sin_family = AF_INET, .sin_addr.s_addr = htonl(to)};
  int fd = socket(AF_INET, type, 0);
  if (bind(fd, (struct sockaddr*)address, length) != 0) fail("bind");
  getsockname(fd, (struct sockaddr*)address, &length);
  return fd;
}

static void tcp_path(struct end* end, int fd) {
  int one = 1;
  setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
  end->in = end->out = fd;
}

/* A lost datagram ends the loop. */
static void udp_path(struct end* end, int fd, const struct sockaddr_in* other) {
  struct timeval limit = {.tv_sec = 2};
  setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
  if (connect(fd, (const struct sockaddr*)other, sizeof *other) != 0) fail("connect");
  end->in = end->out = fd;
}

static void tcp_connect(struct end* end) {
  struct sockaddr_in address;
  int listener = bound(SOCK_STREAM, &address, INADDR_LOOPBACK), fd = listener;
  if (listen(listener, 1) != 0) fail("listen");
  split(end);
  if (end->side == 0) {
    fd = accept(listener, NULL, NULL);
    if (fd < 0) fail("accept");
  } else {
    fd = socket(AF_INET, SOCK_STREAM, 0);
    if (connect(fd, (struct sockaddr*)&address, sizeof address) != 0) fail("connect");
  }
  tcp_path(end, fd);
}

static void udp_connect(struct end* end) {
  struct sockaddr_in address[2];
  int fd[2];
  for (int side = 0; side < 2; ++side)
    fd[side] = bound(SOCK_DGRAM, &address[side], INADDR_LOOPBACK);
  split(end);
  udp_path(end, fd[end->side], &address[!end->side]);
}

static void nobody_connected(int number) {
  static const char why[] = "no connection within 20 s; is the port open?\n";
  (void)number;
  _exit(write(2, why, sizeof why - 1) > 0);
}

/* The next connection of somebody who knows the word. */
static int accept_known(int listener, const char* word) {
  const struct timeval patience = {.tv_sec = 1}, forever = {0};
  for (;;) {
    char said[WORD_LENGTH];
    const int fd = accept(listener, NULL, NULL);
    if (fd < 0) fail("accept");
    /* One that says nothing does not keep others waiting. */
    if (setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience) != 0)
      fail("SO_RCVTIMEO");
    if (recv(fd, said, sizeof said, MSG_WAITALL) == sizeof said &&
        memcmp(said, word, sizeof said) == 0 &&
        setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &forever, sizeof forever) == 0)
      return fd;
    close(fd);
  }
}

/* The ends on two hosts: orders go over a connection, to the port that the other end has printed.
   The path is a second one, or datagrams to the same host. */
static void connect_hosts(struct end* end, int type, const char* host, const char* port) {
  struct sockaddr_in address, other;
  socklen_t length = sizeof other;
  struct addrinfo wanted = {.ai_family = AF_INET, .ai_socktype = SOCK_STREAM}, *found = NULL;
  int listener = -1, both[2];
  char word[WORD_LENGTH + 2];
  end->side = host == NULL;
  if (fgets(word, sizeof word, stdin) == NULL || strlen(word) != WORD_LENGTH + 1)
    errno = EINVAL, fail("word");
  if (end->side == 1) {
    listener = bound(SOCK_STREAM, &address, INADDR_ANY);
    if (listen(listener, 2) != 0) fail("listen");
    printf("%d\n", ntohs(address.sin_port)), fflush(stdout);
  } else {
    int error = getaddrinfo(host, port, &wanted, &found);
    if (error != 0) fprintf(stderr, "%s: %s\n", host, gai_strerror(error)), exit(1);
  }
  /* Whoever was to connect may have failed. */
  signal(SIGALRM, nobody_connected);
  alarm(CONNECT_SECONDS);
  for (int i = 0; i < (type == SOCK_STREAM ? 2 : 1); ++i) {
    if (end->side == 1) {
      both[i] = accept_known(listener, word);
      continue;
    }
    both[i] = socket(AF_INET, SOCK_STREAM, 0);
    if (connect(both[i], found->ai_addr, found->ai_addrlen) != 0) fail(host);
    send_all(both[i], word, WORD_LENGTH);
  }
  alarm(0);
  end->orders = both[0];
  if (type == SOCK_STREAM) {
    tcp_path(end, both[1]);
    return;
  }
  int fd = bound(SOCK_DGRAM, &address, INADDR_ANY);
  write_all(end->orders, (char*)&address.sin_port, sizeof address.sin_port);
  getpeername(end->orders, (struct sockaddr*)&other, &length);
  read_all(end->orders, (char*)&other.sin_port, sizeof other.sin_port);
  udp_path(end, fd, &other);
}

/* Shared memory: a message and the number that says it is there. */
struct segment {
  _Alignas(128) _Atomic unsigned long read, acknowledged;
  struct {
    _Alignas(128) _Atomic unsigned long number;
    char bytes[LARGEST];
  } slots[SLOTS];
};

static void shm_connect(struct end* end) {
  end->segment =
      mmap(NULL, sizeof *end->segment, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (end->segment == MAP_FAILED) fail("mmap");
  split(end);
}

static void shm_put(struct end* end, long slot, const char* out, size_t size) {
  memcpy(end->segment->slots[slot].bytes, out, size);
  atomic_store_explicit(&end->segment->slots[slot].number, end->number, memory_order_release);
}
static void relax(void) {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  __asm__ volatile("yield");
#endif
}
static void await(_Atomic unsigned long* word, unsigned long least) {
  while (atomic_load_explicit(word, memory_order_acquire) < least) relax();
}
static void shm_get(struct end* end, long slot, char* in, size_t size) {
  await(&end->segment->slots[slot].number, end->number);
  memcpy(in, end->segment->slots[slot].bytes, size);
}

static void shm_pingpong(struct end* end, char* out, char* in, size_t size, long count) {
  for (long i = 0; i < 2 * count; ++i) {
    ++end->number;
    if (i % 2 == end->side)
      shm_put(end, 0, out, size);
    else
      shm_get(end, 0, in, size);
  }
}

static void shm_stream(struct end* end, char* out, char* in, size_t size, long window, long count) {
  struct segment* segment = end->segment;
  for (long i = 0; i < count; ++i) {
    for (long k = 0; k < window; ++k) {
      ++end->number;
      if (end->side == 0) {
        if (k >= SLOTS) await(&segment->read, end->number - SLOTS);
        shm_put(end, k % SLOTS, out, size);
      } else {
        shm_get(end, k % SLOTS, in, size);
        atomic_store_explicit(&segment->read, end->number, memory_order_release);
      }
    }
    if (end->side == 0)
      await(&segment->acknowledged, end->number);
    else
      atomic_store_explicit(&segment->acknowledged, end->number, memory_order_release);
  }
}

static const struct path PATHS[] = {
    {"pipe", pipe_pingpong, pipe_stream, pipe_connect, 0},
    {"unix", socket_pingpong, socket_stream, unix_connect, 0},
    {"tcp", socket_pingpong, socket_stream, tcp_connect, SOCK_STREAM},
    {"udp", socket_pingpong, NULL, udp_connect, SOCK_DGRAM},
    {"shm", shm_pingpong, shm_stream, shm_connect, 0},
    {"mpi", mpi_pingpong, mpi_stream, mpi_connect, 0},
};

static double now_ns(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (double)time.tv_sec * 1e9 + (double)time.tv_nsec;
}

static int compare(const void* a, const void* b) {
  return (*(double*)a > *(double*)b) - (*(double*)a < *(double*)b);
}

/* A number that the initiator tells the responder, in a message of the path's own. */
static long agree(const struct path* path, struct end* end, char* out, char* in, long number) {
  memcpy(out, &number, sizeof number);
  path->pingpong(end, out, in, sizeof number, 1);
  if (end->side == 1) memcpy(&number, in, sizeof number);
  return number;
}

/* Interpolated, as numpy does it. */
static double quantile(const double* sorted, long count, double share) {
  const double at = share * (count - 1);
  const long low = at;
  return low + 1 < count ? sorted[low] + (at - low) * (sorted[low + 1] - sorted[low]) : sorted[low];
}

/* One pattern and size: `window` 0 is a ping-pong. Ever more iterations, until they take an eighth
   of the time, tell how long one takes, by the fastest: whoever has slept, or lost its core, takes
   longer. A negative count ends this: it is minus the number of samples that fit the time. */
static void measure(const struct path* path, struct end* end, struct order order) {
  const size_t size = order.size;
  char *out = malloc(size + sizeof(long)), *in = malloc(size + sizeof(long));
  double* times = malloc(MOST_SAMPLES * sizeof *times);
  /* Where a message takes less than a few readings of the clock, one reading is for many. */
  int polls = path->connect == shm_connect || path->connect == mpi_connect;
  long batch = order.window == 0 && polls && size <= SMALL ? 100 : 1;
  if (out == NULL || in == NULL || times == NULL) fail("malloc");
  memset(out, 1, size), memset(in, 1, size);
#define ITERATE(count)                                          \
  order.window == 0 ? path->pingpong(end, out, in, size, count) \
                    : path->stream(end, out, in, size, order.window, count)
  double fastest = INFINITY;
  long count = 1;
  for (int round = 0; (count = agree(path, end, out, in, count)) > 0; ++round) {
    double began = now_ns();
    for (long i = 0; i < count; ++i) ITERATE(batch);
    fastest = fmin(fastest, (now_ns() - began) / count);
    if (round >= 3) count *= 2;
    if (round >= 3 && 8 * fastest * count > order.ns)
      count = -fmax(FEWEST_SAMPLES, fmin(MOST_SAMPLES, order.ns / fastest));
  }
  /* The other end has said it. */
  if (count < -MOST_SAMPLES) errno = EMSGSIZE, fail("samples");
  const long samples = -count;
  double last = now_ns();
  for (long i = 0; i < samples; ++i) {
    ITERATE(batch);
    double now = now_ns();
    times[i] = (now - last) / batch / (order.window == 0 ? 2 : order.window);
    last = now;
  }
  if (end->side == 0) {
    qsort(times, samples, sizeof *times, compare);
    printf("%ld %.3f %.3f\n", samples, quantile(times, samples, 0.5),
           quantile(times, samples, 0.99));
  }
  free(out), free(in), free(times);
}

int main(int count, char** words) {
  if (count > 2 && count <= 2 + MOST_BUSY && strcmp(words[1], "idle") == 0)
    return keep_busy(count - 2, words + 2);
  const struct path* path = NULL;
  for (size_t i = 0; i < sizeof PATHS / sizeof *PATHS; ++i)
    if (count >= 4 && strcmp(words[1], PATHS[i].name) == 0) path = &PATHS[i];
  const int spans_hosts = count > 4;
  if (path == NULL || count > 6 || (spans_hosts && path->type == 0)) {
    fprintf(stderr, "usage: %s PATH CORE CORE [listen | HOST PORT]\n", words[0]);
    return 2;
  }
  struct end end = {0};
  struct order order;
  if (spans_hosts)
    connect_hosts(&end, path->type, count == 6 ? words[4] : NULL, words[5]);
  else
    path->connect(&end);
  pin(atoi(words[2 + end.side]));
  if (end.side == 0) printf("\n");
  while (next_order(path, &end, &order)) measure(path, &end, order);
  end_with_children(0);
  close(end.orders);
  if (path->connect == mpi_connect) mpi_finish();
  if (path->connect != mpi_connect && !spans_hosts && end.side == 0) wait(NULL);
  return 0;
}
