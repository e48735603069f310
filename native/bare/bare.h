/* Bare loops: what somebody writes by hand to see how fast a path is. `halftrip doctor --loops`
   compares halftrip with them, so they share nothing with it: memory comes from malloc, is paged as
   the system does, and the process is pinned and no more. */
#ifndef BARE_H
#define BARE_H

#include <stddef.h>

/* One end of a path. `side` 0 begins, and says over `orders` what comes next; `number` counts the
   messages of a shared memory path. */
struct end {
  int side, in, out, orders;
  unsigned long number;
  struct segment* segment;
};

/* `count` iterations of one end. A stream's iteration is `window` messages and one byte back. */
typedef void pingpong(struct end*, char* out, char* in, size_t size, long count);
typedef void stream(struct end*, char* out, char* in, size_t size, long window, long count);

struct path {
  const char* name;
  pingpong* pingpong;
  stream* stream;
  /* Makes both ends, in two processes; leaves in `end` that of this one. */
  void (*connect)(struct end* end);
  /* The type of the sockets of a path that also goes between hosts, else 0. */
  int type;
};

/* What comes next: a window, 0 for a ping-pong, a size, and a time. */
struct order {
  long window;
  size_t size;
  double ns;
};

enum { LARGEST = 4 << 20, MOST_MESSAGES = 1024 };
/* The next order, from standard input or from the other end; whether there is one. */
int next_order(const struct path* path, struct end* end, struct order* order);

pingpong mpi_pingpong;
stream mpi_stream;
void mpi_connect(struct end* end);
void mpi_finish(void);

/* The most cores of `keep_busy`, which returns the exit status. */
enum { MOST_BUSY = 2 };
int keep_busy(int count, char** cores);
void pin(int core);
/* Whether this process ends, with status 1, as soon as a child of it does. */
void end_with_children(int does);

/* Says why on standard error, and ends the process with status 1. */
_Noreturn void fail(const char* what);

#endif
