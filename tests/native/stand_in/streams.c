/* Streams: bytes are moved at once, but what a stream does takes as long as was planted: whoever
 * waits for it, or has it write a flag, spins until then. On two cores no thread could do it behind
 * the backs of two processes that both poll.
 *
 * STANDIN_CUDA_H2D, _D2H, _D2D, _P2P, _PAGEABLE (added where a copy's host end is not page-locked),
 * _SYNC, _LAUNCH: "NS" or "NS,BYTES_PER_NS".
 */
#define _GNU_SOURCE
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "stand_in.h"

struct stream {
  int64_t end; /* when all that was begun is over */
};
static __thread struct stream default_stream;

static void spin_until(int64_t moment) {
  while (now_ns() < moment) {
  }
}

static struct stream *stream_of(struct stream *stream) { return stream ? stream : &default_stream; }

static void lengthen(struct stream *stream, struct delay delay, size_t size) {
  int64_t start = now_ns();
  if (stream->end > start) start = stream->end;
  double ns = delay.ns + (delay.bytes_per_ns > 0 ? (double)size / delay.bytes_per_ns : 0);
  stream->end = start + (int64_t)ns;
}

static struct delay delay_between(const struct place *to, const struct place *from) {
  int is_to = to->kind == DEVICE, is_from = from->kind == DEVICE;
  if (is_to && is_from) return to->device == from->device ? settings.d2d : settings.p2p;
  if (is_to) return settings.h2d;
  if (is_from) return settings.d2h;
  return (struct delay){0, 0};
}

static CUresult copy(CUdeviceptr to, CUdeviceptr from, size_t size, struct stream *stream) {
  NEEDS_CONTEXT();
  struct place target = find_place(to), source = find_place(from);
  lengthen(stream, delay_between(&target, &source), size);
  memmove(target.bytes, source.bytes, size);
  if (target.kind == PAGEABLE || source.kind == PAGEABLE) {
    /* The driver copies such memory by way of its own. */
    lengthen(stream, settings.pageable, size);
    spin_until(stream->end);
  }
  return SUCCESS;
}

CUresult cuMemcpyAsync(CUdeviceptr to, CUdeviceptr from, size_t size, struct stream *stream) {
  BEGIN();
  return copy(to, from, size, stream_of(stream));
}

CUresult cuMemcpyBatchAsync(CUdeviceptr *to, CUdeviceptr *from, size_t *sizes, size_t count,
                            void *attributes, size_t *indices, size_t attribute_count,
                            size_t *failed, struct stream *stream) {
  (void)attributes, (void)indices, (void)failed;
  BEGIN();
  if (!stream || attribute_count == 0) return INVALID_VALUE;
  for (size_t i = 0; i < count; i++) {
    CUresult result = copy(to[i], from[i], sizes[i], stream);
    if (result) return result;
  }
  return SUCCESS;
}

static CUresult copy_now(CUdeviceptr to, CUdeviceptr from, size_t size) {
  CUresult result = copy(to, from, size, &default_stream);
  spin_until(default_stream.end);
  return result;
}

CUresult cuMemcpyHtoD_v2(CUdeviceptr to, const void *from, size_t size) {
  BEGIN();
  return copy_now(to, (CUdeviceptr)(uintptr_t)from, size);
}

CUresult cuMemcpyDtoH_v2(void *to, CUdeviceptr from, size_t size) {
  BEGIN();
  return copy_now((CUdeviceptr)(uintptr_t)to, from, size);
}

CUresult cuMemsetD8_v2(CUdeviceptr to, unsigned char value, size_t size) {
  BEGIN();
  NEEDS_CONTEXT();
  memset(find_place(to).bytes, value, size);
  return SUCCESS;
}

CUresult cuStreamCreate(struct stream **stream, unsigned flags) {
  (void)flags;
  BEGIN();
  NEEDS_CONTEXT();
  *stream = calloc(1, sizeof **stream);
  return *stream ? SUCCESS : OUT_OF_MEMORY;
}

CUresult cuStreamDestroy_v2(struct stream *stream) {
  BEGIN();
  free(stream);
  return SUCCESS;
}

static CUresult wait_for(int64_t end) {
  NEEDS_CONTEXT();
  int64_t least = now_ns() + (int64_t)settings.sync.ns;
  spin_until(end > least ? end : least);
  return SUCCESS;
}

CUresult cuStreamSynchronize(struct stream *stream) {
  BEGIN();
  return wait_for(stream_of(stream)->end);
}

CUresult cuCtxSynchronize(void) {
  BEGIN();
  return wait_for(default_stream.end);
}

CUresult cuStreamQuery(struct stream *stream) {
  BEGIN();
  return now_ns() < stream_of(stream)->end ? NOT_READY : SUCCESS;
}

CUresult cuStreamWriteValue32_v2(struct stream *stream, CUdeviceptr word, uint32_t value,
                                 unsigned flags) {
  (void)flags;
  BEGIN();
  NEEDS_CONTEXT();
  struct place place = find_place(word);
  if (place.kind == PAGEABLE) return INVALID_VALUE;
  spin_until(stream_of(stream)->end);
  atomic_store_explicit((_Atomic uint32_t *)place.bytes, value, memory_order_release);
  return SUCCESS;
}

/* Events: the moment at which a stream has done what was begun before. */
CUresult cuEventCreate(int64_t **event, unsigned flags) {
  (void)flags;
  BEGIN();
  *event = calloc(1, sizeof **event);
  return *event ? SUCCESS : OUT_OF_MEMORY;
}

CUresult cuEventDestroy_v2(int64_t *event) {
  BEGIN();
  free(event);
  return SUCCESS;
}

CUresult cuEventRecord(int64_t *event, struct stream *stream) {
  BEGIN();
  int64_t now = now_ns(), end = stream_of(stream)->end;
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
  *milliseconds = (float)(*end - *start) * 1e-6f;
  return SUCCESS;
}

CUresult cuStreamWaitEvent(struct stream *stream, int64_t *event, unsigned flags) {
  (void)flags;
  BEGIN();
  struct stream *waiting = stream_of(stream);
  if (*event > waiting->end) waiting->end = *event;
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
  return strstr(module, name) ? SUCCESS : 500; /* not found */
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
