/* Memory: of devices (a memfd that is mapped twice, where the host may not touch the one whose
 * address is given away), page-locked, managed; and the handles by which others open it. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "stand_in.h"

enum { MOST_REGIONS = 4096 };
static struct region {
  CUdeviceptr start;
  size_t size;
  enum kind kind;
  int device, descriptor, is_opened;
  char *bytes;
} regions[MOST_REGIONS];
static int count;
static size_t held[MOST_DEVICES];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

/* What a process says of its memory to those who open it. */
struct handle {
  int pid, descriptor, device, unused;
  size_t size;
  char filler[40];
};
_Static_assert(sizeof(struct handle) == 64, "as large as CUipcMemHandle");

static void write_ledger(void) {
  if (!settings.ledger) return;
  char path[512];
  snprintf(path, sizeof path, "%s/%d", settings.ledger, (int)getpid());
  FILE *file = fopen(path, "w");
  if (!file) return;
  for (int i = 0; i < count; i++)
    fprintf(file, "%d %zu\n", (int)regions[i].kind, regions[i].size);
  fclose(file);
}

static CUresult add(struct region new) {
  CUresult result = OUT_OF_MEMORY;
  pthread_mutex_lock(&lock);
  if (count < MOST_REGIONS) {
    regions[count++] = new;
    write_ledger();
    result = SUCCESS;
  }
  pthread_mutex_unlock(&lock);
  return result;
}

/* Takes away the region that starts there, if it is of that kind. */
static int take(CUdeviceptr start, enum kind kind, struct region *taken) {
  int found = 0;
  pthread_mutex_lock(&lock);
  for (int i = 0; i < count && !found; i++) {
    if (regions[i].start != start || regions[i].kind != kind) continue;
    *taken = regions[i];
    regions[i] = regions[--count];
    write_ledger();
    found = 1;
  }
  pthread_mutex_unlock(&lock);
  return found;
}

static int find(CUdeviceptr address, struct region *found) {
  int is_there = 0;
  pthread_mutex_lock(&lock);
  for (int i = 0; i < count && !is_there; i++) {
    if (address - regions[i].start >= regions[i].size) continue;
    *found = regions[i];
    is_there = 1;
  }
  pthread_mutex_unlock(&lock);
  return is_there;
}

struct place find_place(CUdeviceptr address) {
  struct region region;
  if (!find(address, &region)) return (struct place){PAGEABLE, -1, (char *)(uintptr_t)address};
  return (struct place){region.kind, region.device, region.bytes + (address - region.start)};
}

/* For a library that moves bytes of this one's devices. */
void *halftrip_stand_in_bytes(uint64_t address) { return find_place(address).bytes; }

static CUresult map(int descriptor, size_t size, int device, int is_opened, CUdeviceptr *pointer) {
  char *bytes = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0);
  char *trap = settings.readable ? bytes
                                 : mmap(NULL, size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (bytes == MAP_FAILED || trap == MAP_FAILED) return OUT_OF_MEMORY;
  *pointer = (CUdeviceptr)(uintptr_t)trap;
  return add((struct region){*pointer, size, DEVICE, device, descriptor, is_opened, bytes});
}

static void unmap(const struct region *region) {
  munmap(region->bytes, region->size);
  if (!settings.readable) munmap((void *)(uintptr_t)region->start, region->size);
  close(region->descriptor);
}

CUresult cuMemGetInfo_v2(size_t *free, size_t *total) {
  BEGIN();
  NEEDS_CONTEXT();
  *total = settings.memory;
  *free = settings.memory - held[current_device()];
  return SUCCESS;
}

CUresult cuMemAlloc_v2(CUdeviceptr *pointer, size_t size) {
  BEGIN();
  NEEDS_CONTEXT();
  int device = current_device();
  if (size == 0) return INVALID_VALUE;
  if (size > settings.memory - held[device]) return OUT_OF_MEMORY;
  int descriptor = memfd_create("stand-in", MFD_CLOEXEC);
  if (descriptor < 0 || ftruncate(descriptor, (off_t)size) != 0) return OUT_OF_MEMORY;
  held[device] += size;
  return map(descriptor, size, device, 0, pointer);
}

CUresult cuMemAllocManaged(CUdeviceptr *pointer, size_t size, unsigned flags) {
  (void)flags;
  BEGIN();
  NEEDS_CONTEXT();
  char *bytes = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (bytes == MAP_FAILED) return OUT_OF_MEMORY;
  *pointer = (CUdeviceptr)(uintptr_t)bytes;
  return add((struct region){*pointer, size, MANAGED, current_device(), -1, 0, bytes});
}

CUresult cuMemFree_v2(CUdeviceptr pointer) {
  BEGIN();
  NEEDS_CONTEXT();
  struct region region;
  if (take(pointer, MANAGED, &region)) {
    munmap(region.bytes, region.size);
    return SUCCESS;
  }
  if (!take(pointer, DEVICE, &region)) return INVALID_VALUE;
  held[region.device] -= region.size;
  unmap(&region);
  return SUCCESS;
}

CUresult cuMemHostAlloc(void **pointer, size_t size, unsigned flags) {
  (void)flags;
  BEGIN();
  NEEDS_CONTEXT();
  char *bytes = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (bytes == MAP_FAILED) return OUT_OF_MEMORY;
  *pointer = bytes;
  return add((struct region){(CUdeviceptr)(uintptr_t)bytes, size, PINNED, current_device(), -1, 0,
                             bytes});
}

CUresult cuMemFreeHost(void *pointer) {
  BEGIN();
  struct region region;
  if (!take((CUdeviceptr)(uintptr_t)pointer, PINNED, &region)) return INVALID_VALUE;
  munmap(region.bytes, region.size);
  return SUCCESS;
}

CUresult cuMemHostRegister_v2(void *pointer, size_t size, unsigned flags) {
  (void)flags;
  BEGIN();
  NEEDS_CONTEXT();
  CUdeviceptr start = (CUdeviceptr)(uintptr_t)pointer;
  struct region region;
  if (size == 0) return INVALID_VALUE;
  if (find(start, &region)) return ALREADY_REGISTERED;
  return add((struct region){start, size, PINNED, current_device(), -1, 0, pointer});
}

CUresult cuMemHostUnregister(void *pointer) {
  BEGIN();
  struct region region;
  return take((CUdeviceptr)(uintptr_t)pointer, PINNED, &region) ? SUCCESS : NOT_REGISTERED;
}

CUresult cuMemHostGetDevicePointer_v2(CUdeviceptr *device, void *pointer, unsigned flags) {
  (void)flags;
  BEGIN();
  *device = (CUdeviceptr)(uintptr_t)pointer;
  return find_place(*device).kind == PINNED ? SUCCESS : INVALID_VALUE;
}

CUresult cuIpcGetMemHandle(struct handle *handle, CUdeviceptr pointer) {
  BEGIN();
  struct region region;
  if (settings.no_ipc) return NOT_SUPPORTED;
  if (!find(pointer, &region) || region.kind != DEVICE || region.is_opened) return INVALID_VALUE;
  *handle = (struct handle){(int)getpid(), region.descriptor, region.device, 0, region.size, {0}};
  return SUCCESS;
}

CUresult cuIpcOpenMemHandle_v2(CUdeviceptr *pointer, struct handle handle, unsigned flags) {
  (void)flags;
  BEGIN();
  NEEDS_CONTEXT();
  /* A process cannot open what is its own. */
  if (settings.no_ipc || handle.pid == (int)getpid()) return NOT_SUPPORTED;
  char path[64];
  snprintf(path, sizeof path, "/proc/%d/fd/%d", handle.pid, handle.descriptor);
  int descriptor = open(path, O_RDWR | O_CLOEXEC);
  if (descriptor < 0) return INVALID_VALUE;
  return map(descriptor, handle.size, handle.device, 1, pointer);
}

CUresult cuIpcCloseMemHandle(CUdeviceptr pointer) {
  BEGIN();
  struct region region;
  if (!take(pointer, DEVICE, &region)) return INVALID_VALUE;
  unmap(&region);
  return SUCCESS;
}
