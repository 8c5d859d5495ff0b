/*
 * A wall clock that is wrong: put in front of the C library with LD_PRELOAD, it adds to every answer
 * the int64 number of seconds that stands in the file which PARSLEY_TEST_CLOCK_SHIFT names. The file
 * is mapped, so that a change of it is a jump of the clock. Clocks that only count are left alone.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <time.h>

static const volatile int64_t *shift;

__attribute__((constructor)) static void map_shift(void) {
  const char *name = getenv("PARSLEY_TEST_CLOCK_SHIFT");
  int file = name == NULL ? -1 : open(name, O_RDONLY);
  if (file >= 0) {
    void *mapped = mmap(NULL, sizeof(int64_t), PROT_READ, MAP_SHARED, file, 0);
    shift = mapped == MAP_FAILED ? NULL : mapped;
  }
}

static int64_t shift_seconds(void) { return shift == NULL ? 0 : *shift; }

int clock_gettime(clockid_t clock, struct timespec *now) {
  static int (*original)(clockid_t, struct timespec *);
  if (original == NULL) {
    original = (int (*)(clockid_t, struct timespec *))dlsym(RTLD_NEXT, "clock_gettime");
  }
  int status = original(clock, now);
  if (status == 0 && (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE)) {
    now->tv_sec += shift_seconds();
  }
  return status;
}

int gettimeofday(struct timeval *restrict now, void *restrict zone) {
  (void)zone;
  struct timespec precise;
  int status = clock_gettime(CLOCK_REALTIME, &precise);
  if (status == 0) {
    now->tv_sec = precise.tv_sec;
    now->tv_usec = precise.tv_nsec / 1000;
  }
  return status;
}

time_t time(time_t *now) {
  struct timespec precise;
  if (clock_gettime(CLOCK_REALTIME, &precise) != 0) {
    return (time_t)-1;
  }
  if (now != NULL) {
    *now = precise.tv_sec;
  }
  return precise.tv_sec;
}
