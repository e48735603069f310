/* Memory: of devices (a memfd that is mapped where the host may not touch it, and once more where this
 * library reaches it), page-locked, managed; and the handles by which others open it. Addresses of
 * devices come from a range of their own and are given once, so that one that is no longer
 * allocated is known as such. */
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
enum origin { ALLOCATED, OPENED, REGISTERED };
static struct region {
  CUdeviceptr start;
  size_t size;
  enum kind kind;
  enum origin origin;
  int device, descriptor;
  char *bytes;
} regions[MOST_REGIONS];
static int count;
static size_t held[MOST_DEVICES];
/* Addresses of devices: reserved, not backed by anything. */
static const size_t range_bytes = (size_t)1 << 40;
static CUdeviceptr range_start, range_next;
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

/* Takes away the region that starts there, if it is of that kind and came so. */
static int take(CUdeviceptr start, enum kind kind, enum origin origin, struct region *taken) {
  int found = 0;
  pthread_mutex_lock(&lock);
  for (int i = 0; i < count && !found; i++) {
    const struct region *each = &regions[i];
    if (each->start != start || each->kind != kind || each->origin != origin) continue;
    *taken = *each;
    if (kind == DEVICE && origin == ALLOCATED) held[each->device] -= each->size;
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

CUresult find_place(CUdeviceptr address, size_t size, struct place *place) {
  struct region region;
  if (!find(address, &region)) {
    /* Freed, or never given. */
    if (range_start && address - range_start < range_bytes) return INVALID_VALUE;
    *place = (struct place){PAGEABLE, -1, (char *)(uintptr_t)address};
    return SUCCESS;
  }
  size_t offset = address - region.start;
  if (size > region.size - offset) return INVALID_VALUE;
  *place = (struct place){region.kind, region.device, region.bytes + offset};
  return SUCCESS;
}

void *halftrip_stand_in_host_pointer(uint64_t address, size_t size) {
  struct place place;
  return find_place(address, size, &place) ? NULL : place.bytes;
}

static size_t whole_pages(size_t size) {
  size_t page = (size_t)sysconf(_SC_PAGESIZE);
  return (size + page - 1) / page * page;
}

/* Addresses that trap, with a page between two of them; 0: there are no more. */
static CUdeviceptr reserve(size_t size) {
  CUdeviceptr start = 0;
  pthread_mutex_lock(&lock);
  if (!range_start) {
    void *range = mmap(NULL, range_bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE,
                       -1, 0);
    if (range != MAP_FAILED) range_next = range_start = (CUdeviceptr)(uintptr_t)range;
  }
  size_t taken = whole_pages(size) + whole_pages(1);
  if (range_start && taken <= range_bytes - (range_next - range_start)) {
    start = range_next;
    range_next += taken;
  }
  pthread_mutex_unlock(&lock);
  return start;
}

/* Leaves `descriptor` open where it fails. */
static CUresult map(int descriptor, size_t size, int device, enum origin origin,
                    CUdeviceptr *pointer) {
  CUdeviceptr start = reserve(size);
  if (!start) return OUT_OF_MEMORY;
  /* Where the host may touch it, both are the same. */
  int flags = MAP_SHARED | (settings.readable ? MAP_FIXED : 0);
  void *where = settings.readable ? (void *)(uintptr_t)start : NULL;
  char *bytes = mmap(where, size, PROT_READ | PROT_WRITE, flags, descriptor, 0);
  if (bytes == MAP_FAILED) return OUT_OF_MEMORY;
  *pointer = start;
  return add((struct region){start, size, DEVICE, origin, device, descriptor, bytes});
}

static void unmap(const struct region *region) {
  if (settings.readable)
    mmap(region->bytes, region->size, PROT_NONE,
         MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
  else
    munmap(region->bytes, region->size);
  close(region->descriptor);
}

CUresult cuMemGetInfo_v2(size_t *free, size_t *total) {
  BEGIN();
  NEEDS_CONTEXT();
  *total = settings.memory;
  pthread_mutex_lock(&lock);
  *free = settings.memory - held[current_device()];
  pthread_mutex_unlock(&lock);
  return SUCCESS;
}

/* Counts `size` more bytes of a device as held, if it has so many. */
static int hold(int device, size_t size) {
  pthread_mutex_lock(&lock);
  int fits = size <= settings.memory - held[device];
  if (fits) held[device] += size;
  pthread_mutex_unlock(&lock);
  return fits;
}

static void let_go(int device, size_t size) {
  pthread_mutex_lock(&lock);
  held[device] -= size;
  pthread_mutex_unlock(&lock);
}

CUresult cuMemAlloc_v2(CUdeviceptr *pointer, size_t size) {
  BEGIN();
  NEEDS_CONTEXT();
  int device = current_device();
  if (size == 0) return INVALID_VALUE;
  if (!hold(device, size)) return OUT_OF_MEMORY;
  CUresult result = OUT_OF_MEMORY;
  int descriptor = memfd_create("stand-in", MFD_CLOEXEC);
  if (descriptor >= 0 && ftruncate(descriptor, (off_t)size) == 0)
    result = map(descriptor, size, device, ALLOCATED, pointer);
  if (result) {
    if (descriptor >= 0) close(descriptor);
    let_go(device, size);
  }
  return result;
}

/* The host's memory, of a kind. */
static CUresult allocate(CUdeviceptr *pointer, size_t size, enum kind kind) {
  if (size == 0) return INVALID_VALUE;
  char *bytes = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (bytes == MAP_FAILED) return OUT_OF_MEMORY;
  *pointer = (CUdeviceptr)(uintptr_t)bytes;
  CUresult result =
      add((struct region){*pointer, size, kind, ALLOCATED, current_device(), -1, bytes});
  if (result) munmap(bytes, size);
  return result;
}

CUresult cuMemAllocManaged(CUdeviceptr *pointer, size_t size, unsigned flags) {
  (void)flags;
  BEGIN();
  NEEDS_CONTEXT();
  return allocate(pointer, size, MANAGED);
}

CUresult cuMemFree_v2(CUdeviceptr pointer) {
  BEGIN();
  NEEDS_CONTEXT();
  struct region region;
  if (take(pointer, MANAGED, ALLOCATED, &region)) {
    munmap(region.bytes, region.size);
    return SUCCESS;
  }
  if (!take(pointer, DEVICE, ALLOCATED, &region)) return INVALID_VALUE;
  unmap(&region);
  return SUCCESS;
}

CUresult cuMemHostAlloc(void **pointer, size_t size, unsigned flags) {
  (void)flags;
  BEGIN();
  NEEDS_CONTEXT();
  CUdeviceptr address = 0;
  CUresult result = allocate(&address, size, PINNED);
  if (!result) *pointer = (void *)(uintptr_t)address;
  return result;
}

CUresult cuMemFreeHost(void *pointer) {
  BEGIN();
  struct region region;
  if (!take((CUdeviceptr)(uintptr_t)pointer, PINNED, ALLOCATED, &region)) return INVALID_VALUE;
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
  return add((struct region){start, size, PINNED, REGISTERED, current_device(), -1, pointer});
}

CUresult cuMemHostUnregister(void *pointer) {
  BEGIN();
  struct region region;
  int is_taken = take((CUdeviceptr)(uintptr_t)pointer, PINNED, REGISTERED, &region);
  return is_taken ? SUCCESS : NOT_REGISTERED;
}

CUresult cuMemHostGetDevicePointer_v2(CUdeviceptr *device, void *pointer, unsigned flags) {
  (void)flags;
  BEGIN();
  struct region region;
  CUdeviceptr address = (CUdeviceptr)(uintptr_t)pointer;
  if (!find(address, &region) || region.kind != PINNED) return INVALID_VALUE;
  *device = address;
  return SUCCESS;
}

CUresult cuIpcGetMemHandle(struct handle *handle, CUdeviceptr pointer) {
  BEGIN();
  struct region region;
  if (!find(pointer, &region) || region.kind != DEVICE || region.origin != ALLOCATED)
    return INVALID_VALUE;
  *handle = (struct handle){(int)getpid(), region.descriptor, region.device, 0, region.size, {0}};
  return SUCCESS;
}

CUresult cuIpcOpenMemHandle_v2(CUdeviceptr *pointer, struct handle handle, unsigned flags) {
  (void)flags;
  BEGIN();
  NEEDS_CONTEXT();
  /* A process cannot open what is its own. */
  if (handle.pid == (int)getpid()) return NOT_SUPPORTED;
  char path[64];
  snprintf(path, sizeof path, "/proc/%d/fd/%d", handle.pid, handle.descriptor);
  int descriptor = open(path, O_RDWR | O_CLOEXEC);
  if (descriptor < 0) return INVALID_VALUE;
  CUresult result = map(descriptor, handle.size, handle.device, OPENED, pointer);
  if (result) close(descriptor);
  return result;
}

CUresult cuIpcCloseMemHandle(CUdeviceptr pointer) {
  BEGIN();
  struct region region;
  if (!take(pointer, DEVICE, OPENED, &region)) return INVALID_VALUE;
  unmap(&region);
  return SUCCESS;
}
