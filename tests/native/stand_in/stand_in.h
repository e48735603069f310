/* A stand-in for libcuda.so.1, so that the code that drives a device can be tested without one. It
 * proves that code, never a figure. Device memory is the host's memory that the host cannot touch:
 * a read or write traps. Times are planted.
 *
 * Settings are variables of the environment, STANDIN_CUDA_*; see devices.c and streams.c.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

typedef int CUresult;
typedef uint64_t CUdeviceptr;

enum {
  SUCCESS = 0,
  INVALID_VALUE = 1,
  OUT_OF_MEMORY = 2,
  NOT_INITIALIZED = 3,
  NO_DEVICE = 100,
  INVALID_DEVICE = 101,
  INVALID_CONTEXT = 201,
  PEER_ACCESS_UNSUPPORTED = 217,
  INVALID_HANDLE = 400,
  NOT_FOUND = 500,
  NOT_READY = 600,
  PEER_ACCESS_ALREADY_ENABLED = 704,
  ALREADY_REGISTERED = 712,
  NOT_REGISTERED = 713,
  NOT_SUPPORTED = 801,
  DEVICE_UNAVAILABLE = 46,
};

enum { MOST_DEVICES = 8 };

/* How long something takes: so many ns, and bytes per ns (0: no more for more bytes). */
struct delay {
  double ns, bytes_per_ns;
};

struct settings {
  int devices, version, l2, readable, no_peer, compute_mode, busy, mig, mps;
  size_t memory;
  struct delay h2d, d2h, d2d, p2p, pageable, sync, launch;
  const char *ledger;
};
extern struct settings settings;

/* The beginning of every call: an error that was asked for by STANDIN_CUDA_FAIL, or 0. It also
 * never returns where STANDIN_CUDA_HANG says so. */
CUresult begin_call(const char *name);
#define BEGIN()                                  \
  do {                                           \
    CUresult begun = begin_call(__func__);       \
    if (begun) return begun;                     \
  } while (0)

/* The device that is current in this thread, or -1. */
int current_device(void);
#define NEEDS_CONTEXT()                              \
  do {                                               \
    if (current_device() < 0) return INVALID_CONTEXT; \
  } while (0)

enum kind { PAGEABLE, PINNED, DEVICE, MANAGED };
struct place {
  enum kind kind;
  int device;
  char *bytes; /* where this library reaches it */
};
/* Where `size` bytes are: what nobody knows is pageable memory of the host. INVALID_VALUE where they
 * go beyond an allocation, or are of a device and in none. */
CUresult find_place(CUdeviceptr address, size_t size, struct place *place);
/* For a library that moves bytes of this one's devices: where it reaches them, or NULL. */
void *halftrip_stand_in_host_pointer(uint64_t address, size_t size);

int64_t now_ns(void);
