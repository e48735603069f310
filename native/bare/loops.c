/* bare_loops PATH CORE CORE WINDOW

   Prints an empty line when both ends are connected. Then a line of standard input has a pattern,
   a size and a time, ms; the answer has the number of samples, and their median and 99th
   percentile, ns: of one message, one way. Between two lines both ends sleep. */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
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

enum { LARGEST = 4 << 20, SLOTS = 16, MOST_SAMPLES = 100000, FEWEST_SAMPLES = 5, SMALL = 4096 };

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

static void other_end_died(int number) {
  (void)number;
  _exit(1);
}

/* Neither end outlives the other. */
static void split(struct end* end) {
  const pid_t parent = getpid();
  int pair[2];
  if (socketpair(AF_UNIX, SOCK_STREAM, 0, pair) != 0) fail("socketpair");
  signal(SIGCHLD, other_end_died);
  end->side = fork() == 0;
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

static int bound(int type, struct sockaddr_in* address) {
  socklen_t length = sizeof *address;
  *address = (struct sockaddr_in){.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
  int fd = socket(AF_INET, type, 0);
  if (bind(fd, (struct sockaddr*)address, length) != 0) fail("bind");
  getsockname(fd, (struct sockaddr*)address, &length);
  return fd;
}

static void tcp_connect(struct end* end) {
  struct sockaddr_in address;
  int one = 1, listener = bound(SOCK_STREAM, &address), fd = listener;
  if (listen(listener, 1) != 0) fail("listen");
  split(end);
  if (end->side == 0) {
    fd = accept(listener, NULL, NULL);
    if (fd < 0) fail("accept");
  } else {
    fd = socket(AF_INET, SOCK_STREAM, 0);
    if (connect(fd, (struct sockaddr*)&address, sizeof address) != 0) fail("connect");
  }
  setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
  end->in = end->out = fd;
}

static void udp_connect(struct end* end) {
  struct sockaddr_in address[2];
  struct timeval limit = {.tv_sec = 2};
  int fd[2];
  for (int side = 0; side < 2; ++side) {
    fd[side] = bound(SOCK_DGRAM, &address[side]);
    /* A lost datagram ends the loop. */
    setsockopt(fd[side], SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
  }
  for (int side = 0; side < 2; ++side)
    if (connect(fd[side], (struct sockaddr*)&address[!side], sizeof address[0])) fail("connect");
  split(end);
  end->in = end->out = fd[end->side];
}

/* Shared memory: a message and the number that says it is there. */
struct segment {
  _Alignas(128) _Atomic unsigned long acknowledged;
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
      end->side == 0 ? shm_put(end, k, out, size) : shm_get(end, k, in, size);
    }
    if (end->side == 0)
      await(&segment->acknowledged, end->number);
    else
      atomic_store_explicit(&segment->acknowledged, end->number, memory_order_release);
  }
}

static const struct path PATHS[] = {
    {"pipe", pipe_pingpong, pipe_stream, pipe_connect},
    {"unix", socket_pingpong, socket_stream, unix_connect},
    {"tcp", socket_pingpong, socket_stream, tcp_connect},
    {"udp", socket_pingpong, NULL, udp_connect},
    {"shm", shm_pingpong, shm_stream, shm_connect},
    {"mpi", mpi_pingpong, mpi_stream, mpi_connect},
};

static double now_ns(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (double)time.tv_sec * 1e9 + (double)time.tv_nsec;
}

static int compare(const void* a, const void* b) {
  return (*(double*)a > *(double*)b) - (*(double*)a < *(double*)b);
}

struct order {
  long window;
  size_t size;
  double ns;
};

/* One pattern and size: `window` 0 is a ping-pong. As many samples go before those that count: ends
   that sleep are faster at first, on virtual cores. The initiator tells the responder how many
   samples there are, in a message of the path's own. */
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
  ITERATE(3);
  double began = now_ns();
  for (int i = 0; i < 3; ++i) ITERATE(batch);
  double each = (now_ns() - began) / 3;
  long samples = order.ns / each < FEWEST_SAMPLES ? FEWEST_SAMPLES : order.ns / each;
  if (samples > MOST_SAMPLES) samples = MOST_SAMPLES;
  memcpy(out, &samples, sizeof samples);
  path->pingpong(end, out, in, sizeof samples, 1);
  if (end->side == 1) memcpy(&samples, in, sizeof samples);
  for (long i = 0; i < samples; ++i) ITERATE(batch);
  double last = now_ns();
  for (long i = 0; i < samples; ++i) {
    ITERATE(batch);
    double now = now_ns();
    times[i] = (now - last) / batch / (order.window == 0 ? 2 : order.window);
    last = now;
  }
  if (end->side == 0) {
    qsort(times, samples, sizeof *times, compare);
    printf("%ld %.3f %.3f\n", samples, times[samples / 2], times[samples * 99 / 100]);
  }
  free(out), free(in), free(times);
}

/* The next order; whether there is one. */
static int next_order(struct end* end, long window, struct order* order) {
  char line[80], pattern[16];
  double ms;
  if (end->side == 1)
    return recv(end->orders, order, sizeof *order, MSG_WAITALL) == (ssize_t)sizeof *order;
  fflush(stdout);
  if (fgets(line, sizeof line, stdin) == NULL) return 0;
  if (sscanf(line, "%15s %zu %lf", pattern, &order->size, &ms) != 3) errno = EINVAL, fail(line);
  if (order->size > LARGEST) errno = EMSGSIZE, fail(line);
  order->window = strcmp(pattern, "stream") == 0 ? window : 0;
  order->ns = 1e6 * ms;
  return send(end->orders, order, sizeof *order, MSG_NOSIGNAL) == (ssize_t)sizeof *order;
}

int main(int count, char** words) {
  const struct path* path = NULL;
  for (size_t i = 0; i < sizeof PATHS / sizeof *PATHS; ++i)
    if (count == 5 && strcmp(words[1], PATHS[i].name) == 0) path = &PATHS[i];
  if (path == NULL || atol(words[4]) > SLOTS) {
    fprintf(stderr, "usage: %s PATH CORE CORE WINDOW (%d at most)\n", words[0], SLOTS);
    return 2;
  }
  struct end end = {0};
  struct order order;
  path->connect(&end);
  cpu_set_t core;
  CPU_ZERO(&core);
  CPU_SET(atoi(words[2 + end.side]), &core);
  if (sched_setaffinity(0, sizeof core, &core) != 0) fail("sched_setaffinity");
  if (end.side == 0) printf("\n");
  while (next_order(&end, atol(words[4]), &order)) measure(path, &end, order);
  signal(SIGCHLD, SIG_DFL);
  close(end.orders);
  if (path->connect == mpi_connect) mpi_finish();
  if (path->connect != mpi_connect && end.side == 0) wait(NULL);
  return 0;
}
