/* A stand-in for NCCL between two processes of one host: a shared file with a slot for each
 * direction. Sends and receives of a group move together. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <unistd.h>

enum { OK = 0, SYSTEM_ERROR = 2, INVALID_ARGUMENT = 4, INVALID_USAGE = 5, REMOTE_ERROR = 6 };
enum { SLOT = 1 << 16, MOST_OPERATIONS = 4096, MOST_MS = 10000 };

extern void *halftrip_stand_in_host_pointer(uint64_t address, size_t size);
extern int cuCtxGetDevice(int *device);

struct slot {
  _Atomic uint64_t written, read; /* pieces */
  char bytes[SLOT];
};
struct shared {
  _Atomic int pid[2], device[2]; /* both plus one; 0: not there yet */
  struct slot slots[2];          /* by the sender's rank */
};
struct comm {
  struct shared *shared;
  int rank;
};
typedef struct {
  char path[128];
} unique_id;

static __thread struct operation {
  struct comm *comm;
  char *bytes;
  size_t size, done;
  int sends;
} operations[MOST_OPERATIONS];
static __thread int count, depth;
static __thread const char *last_error = "";

static int fail(int code, const char *why) {
  last_error = why;
  return code;
}

/* What the last call that failed in this thread has to say. */
const char *ncclGetLastError(struct comm *comm) {
  (void)comm;
  return last_error;
}

const char *ncclGetErrorString(int code) {
  switch (code) {
    case OK: return "no error";
    case SYSTEM_ERROR: return "unhandled system error";
    case INVALID_ARGUMENT: return "invalid argument";
    case INVALID_USAGE: return "invalid usage";
    case REMOTE_ERROR: return "remote process exited or there was a network error";
    default: return "unknown result code";
  }
}

int ncclGetUniqueId(unique_id *id) {
  uint64_t number;
  memset(id, 0, sizeof *id);
  if (getrandom(&number, sizeof number, 0) != sizeof number)
    return fail(SYSTEM_ERROR, "no random number");
  const char *folder = getenv("TMPDIR");
  int length = snprintf(id->path, sizeof id->path, "%s/nccl-%016llx", folder ? folder : "/tmp",
                        (unsigned long long)number);
  if (length >= (int)sizeof id->path) return fail(SYSTEM_ERROR, "TMPDIR is too long a name");
  return OK;
}

/* The file of an id, whose ranks both make it if it is not there: an id that nobody joins leaves
 * none. -1: it cannot be made. */
static int open_shared(const unique_id *id) {
  int descriptor = open(id->path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  if (descriptor < 0 && errno == EEXIST) descriptor = open(id->path, O_RDWR | O_CLOEXEC);
  if (descriptor < 0 || ftruncate(descriptor, sizeof(struct shared)) == 0) return descriptor;
  close(descriptor);
  return -1;
}

/* One that has ended stays in /proc until its parent has asked for its status: state Z. */
static int is_alive(const struct shared *shared, int rank) {
  char path[64], line[512];
  snprintf(path, sizeof path, "/proc/%d/stat", shared->pid[rank] - 1);
  FILE *file = fopen(path, "r");
  if (!file) return 0;
  size_t length = fread(line, 1, sizeof line - 1, file);
  fclose(file);
  line[length] = 0;
  /* The state is behind the name, which may have parentheses itself. */
  const char *name_end = strrchr(line, ')');
  return name_end && name_end[1] == ' ' && !strchr("ZXx", name_end[2]);
}

int ncclCommInitRank(struct comm **made, int ranks, unique_id id, int rank) {
  int device = 0;
  if (ranks != 2 || rank < 0 || rank > 1)
    return fail(INVALID_ARGUMENT, "this stand-in has two ranks");
  if (cuCtxGetDevice(&device) != 0) return fail(INVALID_USAGE, "no device is current");
  int descriptor = open_shared(&id);
  if (descriptor < 0) return fail(SYSTEM_ERROR, "no file can be made in TMPDIR");
  struct shared *shared =
      mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0);
  close(descriptor);
  if (shared == MAP_FAILED) return fail(SYSTEM_ERROR, "no memory can be mapped");
  shared->device[rank] = device + 1;
  shared->pid[rank] = (int)getpid() + 1;
  for (long ms = 0; ms < MOST_MS && !shared->pid[1 - rank]; ms++) usleep(1000);
  unlink(id.path);
  int code = OK;
  if (!shared->pid[1 - rank])
    code = fail(SYSTEM_ERROR, "the other rank has not come");
  else if (shared->device[0] == shared->device[1])
    code = fail(INVALID_USAGE, "Duplicate GPU detected");
  struct comm *comm = code ? NULL : malloc(sizeof *comm);
  if (!comm) {
    munmap(shared, sizeof *shared);
    return code ? code : fail(SYSTEM_ERROR, "no memory");
  }
  *comm = (struct comm){shared, rank};
  *made = comm;
  return OK;
}

int ncclCommDestroy(struct comm *comm) {
  if (!comm) return fail(INVALID_ARGUMENT, "no communicator");
  munmap(comm->shared, sizeof *comm->shared);
  free(comm);
  return OK;
}

/* Moves a piece if it can; returns whether it has. */
static int advance(struct operation *each) {
  struct slot *slot = &each->comm->shared->slots[each->sends ? each->comm->rank
                                                            : 1 - each->comm->rank];
  size_t left = each->size - each->done, piece = left < SLOT ? left : SLOT;
  if (each->sends) {
    if (slot->written != slot->read) return 0;
    memcpy(slot->bytes, each->bytes + each->done, piece);
    slot->written++;
  } else {
    if (slot->written == slot->read) return 0;
    memcpy(each->bytes + each->done, slot->bytes, piece);
    slot->read++;
  }
  each->done += piece;
  return 1;
}

/* Of each direction, the operations go one after the other. */
static int move_all(void) {
  int next[2] = {0, 0};
  for (long idle = 0;;) {
    int moved = 0, is_over = 1;
    for (int sends = 0; sends < 2; sends++) {
      while (next[sends] < count && (operations[next[sends]].sends != sends ||
                                     operations[next[sends]].done == operations[next[sends]].size))
        next[sends]++;
      if (next[sends] == count) continue;
      is_over = 0;
      moved |= advance(&operations[next[sends]]);
    }
    if (is_over) break;
    idle = moved ? 0 : idle + 1;
    if (idle % 1000 == 999) {
      const struct comm *comm = operations[0].comm;
      if (!is_alive(comm->shared, 1 - comm->rank)) {
        count = 0;
        return fail(REMOTE_ERROR, "the other rank has ended");
      }
      sched_yield();
    }
  }
  count = 0;
  return OK;
}

/* Bytes, of either sign, are all that is asked for: ncclInt8, ncclUint8. */
static int add(struct comm *comm, const void *bytes, size_t size, int type, int peer, int sends) {
  if (!comm || (type != 0 && type != 1) || peer != 1 - comm->rank)
    return fail(INVALID_ARGUMENT, "not bytes, or not for the other rank");
  if (count == MOST_OPERATIONS) return fail(INVALID_USAGE, "too many operations in a group");
  char *reached = halftrip_stand_in_host_pointer((uint64_t)(uintptr_t)bytes, size);
  if (!reached) return fail(INVALID_ARGUMENT, "no memory of a device is there");
  operations[count++] = (struct operation){comm, reached, size, 0, sends};
  return depth ? OK : move_all();
}

int ncclSend(const void *bytes, size_t size, int type, int peer, struct comm *comm, void *stream) {
  (void)stream;
  return add(comm, bytes, size, type, peer, 1);
}

int ncclRecv(void *bytes, size_t size, int type, int peer, struct comm *comm, void *stream) {
  (void)stream;
  return add(comm, bytes, size, type, peer, 0);
}

int ncclGroupStart(void) {
  depth++;
  return OK;
}

int ncclGroupEnd(void) {
  if (depth == 0) return fail(INVALID_USAGE, "no group has been started");
  return --depth ? OK : move_all();
}
