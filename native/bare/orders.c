/* Orders: what both ends are to do next. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "bare.h"

static void check(const struct path* path, const struct order* order, const char* what) {
  if (order->size > LARGEST || order->window < 0 || order->window > MOST_MESSAGES)
    errno = EMSGSIZE, fail(what);
  if (order->window > 0 && path->stream == NULL) errno = ENOTSUP, fail(what);
}

int next_order(const struct path* path, struct end* end, struct order* order) {
  char line[80];
  double ms;
  if (end->side == 1) {
    if (recv(end->orders, order, sizeof *order, MSG_WAITALL) != (ssize_t)sizeof *order) return 0;
    check(path, order, "order");
    return 1;
  }
  fflush(stdout);
  if (fgets(line, sizeof line, stdin) == NULL) return 0;
  line[strcspn(line, "\n")] = '\0';
  if (sscanf(line, "%ld %zu %lf", &order->window, &order->size, &ms) != 3)
    errno = EINVAL, fail(line);
  check(path, order, line);
  order->ns = 1e6 * ms;
  /* The other end has ended before its time. */
  if (send(end->orders, order, sizeof *order, MSG_NOSIGNAL) != (ssize_t)sizeof *order) exit(1);
  return 1;
}
