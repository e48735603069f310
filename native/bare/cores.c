#define _GNU_SOURCE
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bare.h"

/* Pins this process to a core; -1: to the first that it may use, but to core 0, which has most
   interrupts, only if it may use no other. */
void pin(int core) {
  cpu_set_t cores;
  if (core < 0) {
    if (sched_getaffinity(0, sizeof cores, &cores) != 0) fail("sched_getaffinity");
    for (core = CPU_COUNT(&cores) > 1; !CPU_ISSET(core, &cores); ++core) {
    }
  }
  CPU_ZERO(&cores);
  CPU_SET(core, &cores);
  if (sched_setaffinity(0, sizeof cores, &cores) != 0) fail("sched_setaffinity");
}

int keep_busy(int count, char** cores) {
  const pid_t parent = getpid();
  pid_t spinning[MOST_BUSY];
  /* Where each session has a share of its own (sched(7), autogroup), this one has the smallest. */
  setsid();
  FILE* share = fopen("/proc/self/autogroup", "w");
  if (share != NULL) fputs("19", share), fclose(share);
  for (int i = 0; i < count; ++i) {
    if ((spinning[i] = fork()) != 0) continue;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent) exit(1);
    const struct sched_param lowest = {0};
    if (sched_setscheduler(0, SCHED_IDLE, &lowest) != 0) fail("sched_setscheduler");
    pin(atoi(cores[i]));
    for (;;) {
    }
  }
  while (getchar() != EOF) {
  }
  for (int i = 0; i < count; ++i) kill(spinning[i], SIGKILL), waitpid(spinning[i], NULL, 0);
  return 0;
}
