/* MPI_Send and MPI_Recv of the library that the variable BARE_MPI names. It is loaded by name,
   since a header would fix which MPI it is. Handles are pointers (Open MPI, which has an object of
   each name) or numbers (MPICH and its kin); either fits a register, and is passed as one.

   In place of standard input and output, rank 0 has a connection to the abstract socket that the
   variable BARE_ORDERS names: it ends with whoever listens there. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "bare.h"

static intptr_t world, byte;
static void* no_status;
static int (*mpi_send)(const void*, int, intptr_t, int, int, intptr_t);
static int (*mpi_recv)(void*, int, intptr_t, int, int, intptr_t, void*);
static int (*finalize)(void);

static void put(struct end* end, const char* out, size_t size) {
  mpi_send(out, (int)size, byte, !end->side, 0, world);
}
static void get(struct end* end, char* in, size_t size) {
  mpi_recv(in, (int)size, byte, !end->side, 0, world, no_status);
}

static void connect_input(void) {
  const char* name = getenv("BARE_ORDERS");
  struct sockaddr_un address = {.sun_family = AF_UNIX};
  if (name == NULL || strlen(name) > sizeof address.sun_path - 2)
    fprintf(stderr, "no BARE_ORDERS\n"), exit(1);
  memcpy(address.sun_path + 1, name, strlen(name));
  socklen_t length = offsetof(struct sockaddr_un, sun_path) + 1 + strlen(name);
  int fd = socket(AF_UNIX, SOCK_STREAM, 0);
  if (connect(fd, (struct sockaddr*)&address, length) != 0) fail("connect");
  dup2(fd, 0), dup2(fd, 1), close(fd);
}

/* A socket, since whoever waits in MPI takes the core from others. */
static void connect_orders(struct end* end) {
  struct sockaddr_un address = {.sun_family = AF_UNIX};
  socklen_t length = sizeof address.sun_family;
  int fd = socket(AF_UNIX, SOCK_STREAM, 0), listener = fd;
  if (end->side == 1) {
    /* The kernel finds a name. */
    if (bind(fd, (struct sockaddr*)&address, length) != 0 || listen(fd, 1) != 0) fail("bind");
    length = sizeof address;
    getsockname(fd, (struct sockaddr*)&address, &length);
    put(end, (char*)&length, sizeof length);
    put(end, (char*)&address, sizeof address);
    fd = accept(listener, NULL, NULL);
    if (fd < 0) fail("accept");
  } else {
    get(end, (char*)&length, sizeof length);
    get(end, (char*)&address, sizeof address);
    if (connect(fd, (struct sockaddr*)&address, length) != 0) fail("connect");
  }
  end->orders = fd;
}

void mpi_connect(struct end* end) {
  const char* name = getenv("BARE_MPI");
  void* library = name == NULL ? NULL : dlopen(name, RTLD_NOW | RTLD_GLOBAL);
  if (library == NULL) fprintf(stderr, "%s\n", name == NULL ? "no BARE_MPI" : dlerror()), exit(1);
  int (*init)(int*, char***) = dlsym(library, "MPI_Init");
  int (*rank)(intptr_t, int*) = dlsym(library, "MPI_Comm_rank");
  mpi_send = dlsym(library, "MPI_Send");
  mpi_recv = dlsym(library, "MPI_Recv");
  finalize = dlsym(library, "MPI_Finalize");
  if (init == NULL || rank == NULL || mpi_send == NULL || mpi_recv == NULL || finalize == NULL)
    fprintf(stderr, "%s has no MPI\n", name), exit(1);
  void* open_mpi = dlsym(library, "ompi_mpi_comm_world");
  world = open_mpi != NULL ? (intptr_t)open_mpi : 0x44000000;
  byte = open_mpi != NULL ? (intptr_t)dlsym(library, "ompi_mpi_byte") : 0x4c00010d;
  no_status = open_mpi != NULL ? NULL : (void*)1;
  if (init(NULL, NULL) != 0) fail("MPI_Init");
  rank(world, &end->side);
  connect_orders(end);
  if (end->side == 0) connect_input();
}

void mpi_pingpong(struct end* end, char* out, char* in, size_t size, long count) {
  for (long i = 0; i < count; ++i) {
    if (end->side == 0) put(end, out, size);
    get(end, in, size);
    if (end->side == 1) put(end, out, size);
  }
}

void mpi_stream(struct end* end, char* out, char* in, size_t size, long window, long count) {
  for (long i = 0; i < count; ++i) {
    for (long k = 0; k < window; ++k) end->side == 0 ? put(end, out, size) : get(end, in, size);
    end->side == 0 ? get(end, in, 1) : put(end, out, 1);
  }
}

void mpi_finish(void) { finalize(); }
