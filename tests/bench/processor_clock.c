// SPDX-License-Identifier: Apache-2.0
// For programs of one thread on a busy machine: the monotonic clock becomes the processor time of the process, so that
// a program is not charged for the time that others take from it.
//   cc -O2 -shared -fPIC -o clock.so tests/bench/processor_clock.c -ldl; LD_PRELOAD=clock.so tests/bench/against_llama_gguf ...
#define _GNU_SOURCE
#include <dlfcn.h>
#include <time.h>

int clock_gettime(clockid_t clock, struct timespec* to) {
  static int (*next)(clockid_t, struct timespec*);
  if (!next) next = (int (*)(clockid_t, struct timespec*))dlsym(RTLD_NEXT, "clock_gettime");
  return next(clock == CLOCK_MONOTONIC ? CLOCK_PROCESS_CPUTIME_ID : clock, to);
}
