/* Streams: bytes are moved at once, but what a stream does takes as long as was planted: whoever
 * waits for it, or has it write a flag, spins until then. On two cores no thread could do it behind
 * the backs of two processes that both poll.
 *
 * STANDIN_CUDA_H2D, _D2H, _D2D, _P2P, _PAGEABLE (added where a copy's host end is not page-locked),
 * _SYNC, _LAUNCH: "NS" or "NS,BYTES_PER_NS".
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "stand_in.h"

struct stream {
  int device;
  int64_t end; /* when all that was begun is over */
};
/* Of each device, as a thread has it. */
static __thread struct stream default_streams[MOST_DEVICES];
/* When all that was begun on any stream of a device is over. */
static int64_t device_ends[MOST_DEVICES];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void spin_until(int64_t moment) {
  while (now_ns() < moment) {
  }
}

/* 0, 1 and 2 are the default stream. Needs a context. */
static struct stream *stream_of(struct stream *stream) {
  if ((uintptr_t)stream > 2) return stream;
  struct stream *found = &default_streams[current_device()];
  found->device = current_device();
  return found;
}

static int64_t end_of(const struct stream *stream) {
  pthread_mutex_lock(&lock);
  int64_t end = stream->end;
  pthread_mutex_unlock(&lock);
  return end;
}

/* What is begun on it now ends so many ns after `start`, or after what was begun before. */
static void lengthen_from(struct stream *stream, int64_t start, double ns) {
  pthread_mutex_lock(&lock);
  stream->end = (stream->end > start ? stream->end : start) + (int64_t)ns;
  if (stream->end > device_ends[stream->device]) device_ends[stream->device] = stream->end;
  pthread_mutex_unlock(&lock);
}

static void lengthen(struct stream *stream, struct delay delay, size_t size) {
  double ns = delay.ns + (delay.bytes_per_ns > 0 ? (double)size / delay.bytes_per_ns : 0);
  lengthen_from(stream, now_ns(), ns);
}

static struct delay delay_between(const struct place *to, const struct place *from) {
  int is_to = to->kind == DEVICE, is_from = from->kind == DEVICE;
  if (is_to && is_from) return to->device == from->device ? settings.d2d : settings.p2p;
  if (is_to) return settings.h2d;
  if (is_from) return settings.d2h;
  return (struct delay){0, 0};
}

static CUresult copy(CUdeviceptr to, CUdeviceptr from, size_t size, struct stream *stream) {
  struct place target, source;
  CUresult result = find_place(to, size, &target);
  if (!result) result = find_place(from, size, &source);
  if (result) return result;
  lengthen(stream, delay_between(&target, &source), size);
  memmove(target.bytes, source.bytes, size);
  if (target.kind == PAGEABLE || source.kind == PAGEABLE) {
    /* The driver copies such memory by way of its own. */
    lengthen(stream, settings.pageable, size);
    spin_until(end_of(stream));
  }
  return SUCCESS;
}

/* Calls whose name says where the bytes are take no others. */
static int is_on_device(CUdeviceptr address) {
  struct place place;
  return find_place(address, 0, &place) == SUCCESS && place.kind != PAGEABLE;
}

CUresult cuMemcpyAsync(CUdeviceptr to, CUdeviceptr from, size_t size, struct stream *stream) {
  BEGIN();
  NEEDS_CONTEXT();
  return copy(to, from, size, stream_of(stream));
}

CUresult cuMemcpyBatchAsync(CUdeviceptr *to, CUdeviceptr *from, size_t *sizes, size_t count,
                            void *attributes, size_t *indices, size_t attribute_count,
                            size_t *failed, struct stream *stream) {
  BEGIN();
  NEEDS_CONTEXT();
  /* SIZE_MAX: it is not one of the copies that failed. */
  if (failed) *failed = SIZE_MAX;
  /* The default stream takes none, and the first attributes are those of the first copy. */
  if ((uintptr_t)stream <= 2 || count == 0) return INVALID_VALUE;
  if (!attributes || !indices || attribute_count == 0 || attribute_count > count || indices[0] != 0)
    return INVALID_VALUE;
  for (size_t i = 0; i < count; i++) {
    CUresult result = copy(to[i], from[i], sizes[i], stream);
    if (!result) continue;
    if (failed) *failed = i;
    return result;
  }
  return SUCCESS;
}

static CUresult copy_now(CUdeviceptr to, CUdeviceptr from, size_t size) {
  struct stream *stream = stream_of(NULL);
  CUresult result = copy(to, from, size, stream);
  if (!result) spin_until(end_of(stream));
  return result;
}

CUresult cuMemcpyHtoD_v2(CUdeviceptr to, const void *from, size_t size) {
  BEGIN();
  NEEDS_CONTEXT();
  if (!is_on_device(to)) return INVALID_VALUE;
  return copy_now(to, (CUdeviceptr)(uintptr_t)from, size);
}

CUresult cuMemcpyDtoH_v2(void *to, CUdeviceptr from, size_t size) {
  BEGIN();
  NEEDS_CONTEXT();
  if (!is_on_device(from)) return INVALID_VALUE;
  return copy_now((CUdeviceptr)(uintptr_t)to, from, size);
}

static CUresult fill(CUdeviceptr to, unsigned char value, size_t size) {
  struct place place;
  CUresult result = find_place(to, size, &place);
  if (result || place.kind == PAGEABLE) return INVALID_VALUE;
  memset(place.bytes, value, size);
  return SUCCESS;
}

CUresult cuMemsetD8_v2(CUdeviceptr to, unsigned char value, size_t size) {
  BEGIN();
  NEEDS_CONTEXT();
  return fill(to, value, size);
}

CUresult cuStreamCreate(struct stream **stream, unsigned flags) {
  (void)flags;
  BEGIN();
  NEEDS_CONTEXT();
  *stream = calloc(1, sizeof **stream);
  if (!*stream) return OUT_OF_MEMORY;
  (*stream)->device = current_device();
  return SUCCESS;
}

CUresult cuStreamDestroy_v2(struct stream *stream) {
  BEGIN();
  if ((uintptr_t)stream <= 2) return INVALID_HANDLE;
  free(stream);
  return SUCCESS;
}

static CUresult wait_for(int64_t end) {
  int64_t least = now_ns() + (int64_t)settings.sync.ns;
  spin_until(end > least ? end : least);
  return SUCCESS;
}

CUresult cuStreamSynchronize(struct stream *stream) {
  BEGIN();
  NEEDS_CONTEXT();
  return wait_for(end_of(stream_of(stream)));
}

CUresult cuCtxSynchronize(void) {
  BEGIN();
  NEEDS_CONTEXT();
  pthread_mutex_lock(&lock);
  int64_t end = device_ends[current_device()];
  pthread_mutex_unlock(&lock);
  return wait_for(end);
}

CUresult cuStreamWriteValue32_v2(struct stream *stream, CUdeviceptr word, uint32_t value,
                                 unsigned flags) {
  (void)flags;
  BEGIN();
  NEEDS_CONTEXT();
  struct place place;
  CUresult result = find_place(word, sizeof value, &place);
  if (result || place.kind == PAGEABLE || word % sizeof value != 0) return INVALID_VALUE;
  spin_until(end_of(stream_of(stream)));
  atomic_store_explicit((_Atomic uint32_t *)place.bytes, value, memory_order_release);
  return SUCCESS;
}

/* Events: the moment at which a stream has done what was begun before. */
CUresult cuEventCreate(int64_t **event, unsigned flags) {
  (void)flags;
  BEGIN();
  NEEDS_CONTEXT();
  *event = calloc(1, sizeof **event);
  return *event ? SUCCESS : OUT_OF_MEMORY;
}

CUresult cuEventDestroy_v2(int64_t *event) {
  BEGIN();
  if (!event) return INVALID_HANDLE;
  free(event);
  return SUCCESS;
}

CUresult cuEventRecord(int64_t *event, struct stream *stream) {
  BEGIN();
  NEEDS_CONTEXT();
  int64_t now = now_ns(), end = end_of(stream_of(stream));
  *event = end > now ? end : now;
  return SUCCESS;
}

CUresult cuEventSynchronize(int64_t *event) {
  BEGIN();
  spin_until(*event);
  return SUCCESS;
}

CUresult cuEventElapsedTime(float *milliseconds, int64_t *start, int64_t *end) {
  BEGIN();
  if (*start == 0 || *end == 0) return INVALID_HANDLE; /* not recorded */
  if (*end > now_ns() || *start > now_ns()) return NOT_READY;
  *milliseconds = (float)(*end - *start) * 1e-6f;
  return SUCCESS;
}

/* A kernel does nothing, for as long as was planted. */
CUresult cuModuleLoadData(void **module, const void *image) {
  BEGIN();
  NEEDS_CONTEXT();
  *module = (void *)image;
  return image ? SUCCESS : INVALID_VALUE;
}

CUresult cuModuleUnload(void *module) {
  (void)module;
  BEGIN();
  return SUCCESS;
}

CUresult cuModuleGetFunction(void **function, void *module, const char *name) {
  BEGIN();
  *function = module;
  return strstr(module, name) ? SUCCESS : NOT_FOUND;
}

CUresult cuLaunchKernel(void *function, unsigned grid_x, unsigned grid_y, unsigned grid_z,
                        unsigned block_x, unsigned block_y, unsigned block_z, unsigned shared,
                        struct stream *stream, void **parameters, void **extra) {
  (void)grid_x, (void)grid_y, (void)grid_z, (void)block_x, (void)block_y, (void)block_z;
  (void)shared, (void)parameters, (void)extra;
  BEGIN();
  NEEDS_CONTEXT();
  if (!function) return INVALID_HANDLE;
  lengthen(stream_of(stream), settings.launch, 0);
  return SUCCESS;
}
