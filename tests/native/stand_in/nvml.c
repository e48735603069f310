/* A stand-in for NVML: what it says of the stand-in's devices. STANDIN_CUDA_MIG: MIG is on. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { OK = 0, INVALID_ARGUMENT = 2, NOT_FOUND = 6, INSUFFICIENT_SIZE = 7 };
enum { FIRST_BUS = 0xaa };

static long number(const char *name, long otherwise) {
  const char *text = getenv(name);
  return text ? atol(text) : otherwise;
}

int nvmlInit_v2(void) { return OK; }

int nvmlSystemGetDriverVersion(char *version, unsigned length) {
  int written = snprintf(version, length, "999.1");
  return written < (int)length ? OK : INSUFFICIENT_SIZE;
}

/* A handle is the bus, which the stand-in's devices differ in: 0000:aa:00.0 and on. */
static int find(long bus, void **device) {
  long place = bus - FIRST_BUS;
  if (place < 0 || place >= number("STANDIN_CUDA_DEVICES", 2)) return NOT_FOUND;
  *device = (void *)bus;
  return OK;
}

int nvmlDeviceGetHandleByPciBusId_v2(const char *address, void **device) {
  const char *bus = strchr(address, ':');
  if (!bus) return INVALID_ARGUMENT;
  return find(strtol(bus + 1, NULL, 16), device);
}

int nvmlDeviceGetCurrPcieLinkGeneration(void *device, unsigned *generation) {
  (void)device;
  *generation = 3;
  return OK;
}

int nvmlDeviceGetMaxPcieLinkGeneration(void *device, unsigned *generation) {
  (void)device;
  *generation = 5;
  return OK;
}

int nvmlDeviceGetCurrPcieLinkWidth(void *device, unsigned *width) {
  (void)device;
  *width = 8;
  return OK;
}

int nvmlDeviceGetMaxPcieLinkWidth(void *device, unsigned *width) {
  (void)device;
  *width = 16;
  return OK;
}

int nvmlDeviceGetEnforcedPowerLimit(void *device, unsigned *milliwatts) {
  (void)device;
  *milliwatts = 300000;
  return OK;
}

int nvmlDeviceGetMaxClockInfo(void *device, int which, unsigned *megahertz) {
  (void)device;
  *megahertz = which == 2 ? 2000 : 1500;
  return OK;
}

int nvmlDeviceGetEccMode(void *device, int *current, int *pending) {
  (void)device;
  *current = *pending = 1;
  return OK;
}

int nvmlDeviceGetMigMode(void *device, unsigned *current, unsigned *pending) {
  (void)device;
  *current = *pending = number("STANDIN_CUDA_MIG", 0) ? 1 : 0;
  return OK;
}
