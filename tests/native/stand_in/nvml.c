/* A stand-in for NVML: what it says of the stand-in's devices. STANDIN_CUDA_MIG: MIG is on. */
#include <stdlib.h>
#include <string.h>

enum { OK = 0, NOT_FOUND = 6, NOT_SUPPORTED = 3 };

int nvmlInit_v2(void) { return OK; }
int nvmlShutdown(void) { return OK; }
const char *nvmlErrorString(int code) { return code == NOT_FOUND ? "Not Found" : "Error"; }

int nvmlSystemGetDriverVersion(char *version, unsigned length) {
  strncpy(version, "999.1", length);
  return OK;
}

/* A handle is the bus, which the stand-in's devices differ in: 0000:aa:00.0 and on. */
int nvmlDeviceGetHandleByPciBusId_v2(const char *address, void **device) {
  const char *bus = strchr(address, ':');
  long number = bus ? strtol(bus + 1, NULL, 16) : 0;
  *device = (void *)number;
  return number >= 0xaa ? OK : NOT_FOUND;
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
  const char *is_on = getenv("STANDIN_CUDA_MIG");
  *current = *pending = is_on && atoi(is_on) ? 1 : 0;
  return OK;
}
