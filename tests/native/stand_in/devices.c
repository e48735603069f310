/* Settings, errors, devices and contexts.
 *
 * STANDIN_CUDA_DEVICES, _MEMORY, _L2 (bytes of each), _VERSION, _NO_PEER, _COMPUTE_MODE, _BUSY
 * (another process has the devices, where the mode is exclusive), _MIG, _READABLE (the host reaches
 * device memory, as if a library knew how to), _LEDGER (a directory in which each process keeps a
 * file of what it holds);
 * _FAIL: "NAME=CODE" or "NAME=CODE@N" (from its Nth call on; then every call fails: the device has
 * fallen off the bus), several with commas; _HANG: "NAME@N", which never returns.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "stand_in.h"

struct settings settings;
static int is_initialised;
static __thread int current = -1;
static unsigned reached[MOST_DEVICES]; /* by device, a bit for each that it was let access */
static pthread_mutex_t failures_lock = PTHREAD_MUTEX_INITIALIZER;

enum { MOST_FAILURES = 8 };
static struct failure {
  char name[64];
  int code;
  long from, calls;
  int hangs;
} failures[MOST_FAILURES];
static int failure_count, fallen;

int halftrip_stand_in(void) { return 1; }

int64_t now_ns(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

static const char *variable(const char *name) {
  char full[64];
  snprintf(full, sizeof full, "STANDIN_CUDA_%s", name);
  return getenv(full);
}

static long number(const char *name, long otherwise) {
  const char *text = variable(name);
  return text ? atol(text) : otherwise;
}

static struct delay delay(const char *name) {
  struct delay found = {0, 0};
  const char *text = variable(name);
  if (text) sscanf(text, "%lf,%lf", &found.ns, &found.bytes_per_ns);
  return found;
}

static void read_failures(const char *text, int hangs) {
  while (text && *text && failure_count < MOST_FAILURES) {
    struct failure *next = &failures[failure_count];
    *next = (struct failure){.from = 1, .hangs = hangs};
    const char *format = hangs ? "%63[^=@,]@%ld" : "%63[^=@,]=%d@%ld";
    int read = hangs ? sscanf(text, format, next->name, &next->from)
                     : sscanf(text, format, next->name, &next->code, &next->from);
    if (read >= 1) failure_count++;
    text = strchr(text, ',');
    if (text) text++;
  }
}

static void read_settings(void) {
  settings = (struct settings){
      .devices = (int)number("DEVICES", 2),
      .version = (int)number("VERSION", 12080),
      .readable = (int)number("READABLE", 0),
      .no_peer = (int)number("NO_PEER", 0),
      .compute_mode = (int)number("COMPUTE_MODE", 0),
      .mps = (int)number("MPS", 0),
      .busy = (int)number("BUSY", 0),
      .mig = (int)number("MIG", 0),
      .memory = (size_t)number("MEMORY", 256 << 20),
      .l2 = (int)number("L2", 1 << 20),
      .h2d = delay("H2D"),
      .d2h = delay("D2H"),
      .d2d = delay("D2D"),
      .p2p = delay("P2P"),
      .pageable = delay("PAGEABLE"),
      .sync = delay("SYNC"),
      .launch = delay("LAUNCH"),
      .ledger = variable("LEDGER"),
  };
  if (settings.devices > MOST_DEVICES) settings.devices = MOST_DEVICES;
  failure_count = 0;
  read_failures(variable("FAIL"), 0);
  read_failures(variable("HANG"), 1);
}

CUresult begin_call(const char *name) {
  if (!is_initialised && strcmp(name, "cuInit") != 0) return NOT_INITIALIZED;
  int code = 0, hangs = 0;
  pthread_mutex_lock(&failures_lock);
  if (fallen) code = fallen;
  for (int i = 0; i < failure_count && !code && !hangs; i++) {
    struct failure *each = &failures[i];
    if (strcmp(each->name, name) != 0 || ++each->calls < each->from) continue;
    code = each->code;
    hangs = each->hangs;
    if (each->from > 1 && code) fallen = code;
  }
  pthread_mutex_unlock(&failures_lock);
  while (hangs) pause();
  return code;
}

CUresult cuInit(unsigned flags) {
  (void)flags;
  /* Others in this process call it, too: what was counted until then still counts. */
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  pthread_once(&once, read_settings);
  CUresult failed = begin_call(__func__);
  if (failed) return failed;
  if (settings.devices < 1) return NO_DEVICE;
  is_initialised = 1;
  return SUCCESS;
}

CUresult cuDriverGetVersion(int *version) {
  *version = settings.version;
  return SUCCESS;
}

static const struct {
  int code;
  const char *name, *text;
} errors[] = {
    {SUCCESS, "CUDA_SUCCESS", "no error"},
    {INVALID_VALUE, "CUDA_ERROR_INVALID_VALUE", "invalid argument"},
    {OUT_OF_MEMORY, "CUDA_ERROR_OUT_OF_MEMORY", "out of memory"},
    {NOT_INITIALIZED, "CUDA_ERROR_NOT_INITIALIZED", "initialization error"},
    {DEVICE_UNAVAILABLE, "CUDA_ERROR_DEVICE_UNAVAILABLE",
     "CUDA-capable device(s) is/are busy or unavailable"},
    {NO_DEVICE, "CUDA_ERROR_NO_DEVICE", "no CUDA-capable device is detected"},
    {INVALID_DEVICE, "CUDA_ERROR_INVALID_DEVICE", "invalid device ordinal"},
    {INVALID_CONTEXT, "CUDA_ERROR_INVALID_CONTEXT", "invalid device context"},
    {INVALID_HANDLE, "CUDA_ERROR_INVALID_HANDLE", "invalid resource handle"},
    {NOT_FOUND, "CUDA_ERROR_NOT_FOUND", "named symbol not found"},
    {NOT_READY, "CUDA_ERROR_NOT_READY", "device not ready"},
    {ALREADY_REGISTERED, "CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED",
     "part or all of the requested memory range is already mapped"},
    {NOT_REGISTERED, "CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED",
     "pointer does not correspond to a registered memory region"},
    {PEER_ACCESS_UNSUPPORTED, "CUDA_ERROR_PEER_ACCESS_UNSUPPORTED",
     "peer access is not supported between these two devices"},
    {PEER_ACCESS_ALREADY_ENABLED, "CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED",
     "peer access is already enabled"},
    {719, "CUDA_ERROR_LAUNCH_FAILED", "unspecified launch failure"},
    {NOT_SUPPORTED, "CUDA_ERROR_NOT_SUPPORTED", "operation not supported"},
    {803, "CUDA_ERROR_SYSTEM_DRIVER_MISMATCH",
     "system has unsupported display driver / cuda driver combination"},
};

static int error_of(int code) {
  for (size_t i = 0; i < sizeof errors / sizeof *errors; i++)
    if (errors[i].code == code) return (int)i;
  return -1;
}

CUresult cuGetErrorName(int code, const char **name) {
  int found = error_of(code);
  *name = found < 0 ? NULL : errors[found].name;
  return found < 0 ? INVALID_VALUE : SUCCESS;
}

CUresult cuGetErrorString(int code, const char **text) {
  int found = error_of(code);
  *text = found < 0 ? NULL : errors[found].text;
  return found < 0 ? INVALID_VALUE : SUCCESS;
}

static int is_device(int device) { return device >= 0 && device < settings.devices; }

CUresult cuDeviceGetCount(int *count) {
  BEGIN();
  *count = settings.devices;
  return SUCCESS;
}

CUresult cuDeviceGet(int *device, int ordinal) {
  BEGIN();
  if (!is_device(ordinal)) return INVALID_DEVICE;
  *device = ordinal;
  return SUCCESS;
}

CUresult cuDeviceGetName(char *name, int length, int device) {
  BEGIN();
  if (!is_device(device)) return INVALID_DEVICE;
  snprintf(name, (size_t)length, "Stand-in %d", device);
  return SUCCESS;
}

CUresult cuDeviceGetUuid_v2(unsigned char *uuid, int device) {
  BEGIN();
  if (!is_device(device)) return INVALID_DEVICE;
  memset(uuid, 0x5a, 16);
  uuid[0] = (unsigned char)(0xa0 + device);
  return SUCCESS;
}

CUresult cuDeviceGetAttribute(int *value, int which, int device) {
  BEGIN();
  if (!is_device(device)) return INVALID_DEVICE;
  switch (which) {
    case 20: *value = settings.compute_mode; break;
    case 33: *value = 0xaa + device; break; /* PCI bus */
    case 34: *value = 0; break;             /* PCI device */
    case 50: *value = 0; break;             /* PCI domain */
    case 38: *value = settings.l2; break;   /* L2, bytes */
    case 83: case 89: *value = 1; break;    /* managed memory, at any time */
    case 133: *value = settings.mps; break; /* MPS */
    default: *value = 0;
  }
  return SUCCESS;
}

CUresult cuDeviceTotalMem_v2(size_t *bytes, int device) {
  BEGIN();
  if (!is_device(device)) return INVALID_DEVICE;
  *bytes = settings.memory;
  return SUCCESS;
}

CUresult cuDeviceCanAccessPeer(int *can, int device, int peer) {
  BEGIN();
  if (!is_device(device) || !is_device(peer)) return INVALID_DEVICE;
  *can = device != peer && !settings.no_peer;
  return SUCCESS;
}

/* Copies between devices take as long as was planted, enabled or not. */
CUresult cuCtxEnablePeerAccess(void *context, unsigned flags) {
  (void)flags;
  BEGIN();
  NEEDS_CONTEXT();
  int peer = (int)(intptr_t)context - 1;
  if (!is_device(peer) || peer == current) return INVALID_CONTEXT;
  if (settings.no_peer) return PEER_ACCESS_UNSUPPORTED;
  if (reached[current] & 1u << peer) return PEER_ACCESS_ALREADY_ENABLED;
  reached[current] |= 1u << peer;
  return SUCCESS;
}

/* Of CUcomputemode. */
enum { PROHIBITED = 2, EXCLUSIVE_PROCESS = 3 };

/* A context's handle is its device's number, and 1. */
CUresult cuDevicePrimaryCtxRetain(void **context, int device) {
  BEGIN();
  if (!is_device(device)) return INVALID_DEVICE;
  int is_denied = settings.compute_mode == PROHIBITED ||
                  (settings.compute_mode == EXCLUSIVE_PROCESS && settings.busy);
  if (is_denied) return DEVICE_UNAVAILABLE;
  *context = (void *)(intptr_t)(device + 1);
  return SUCCESS;
}

CUresult cuDevicePrimaryCtxSetFlags_v2(int device, unsigned flags) {
  (void)flags;
  BEGIN();
  return is_device(device) ? SUCCESS : INVALID_DEVICE;
}

CUresult cuCtxSetCurrent(void *context) {
  BEGIN();
  intptr_t device = (intptr_t)context - 1; /* -1: none is current any more */
  if (device < -1 || device >= settings.devices) return INVALID_CONTEXT;
  current = (int)device;
  return SUCCESS;
}

CUresult cuCtxGetDevice(int *device) {
  BEGIN();
  NEEDS_CONTEXT();
  *device = current;
  return SUCCESS;
}

int current_device(void) { return current; }
