// Loaded into a gateway with LD_PRELOAD: its wall clock is that of the system plus what the file
// SHIFTED_CLOCK_FILE holds, a 64-bit number of seconds that tests change while it runs.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static _Atomic int64_t* shift;
static int (*real_clock_gettime)(clockid_t, struct timespec*);

__attribute__((constructor)) static void attach(void) {
  *(void**)(&real_clock_gettime) = dlsym(RTLD_NEXT, "clock_gettime");
  const char* path = getenv("SHIFTED_CLOCK_FILE");
  const int file = path != NULL ? open(path, O_RDONLY | O_CLOEXEC) : -1;
  if (file >= 0) {
    void* mapped = mmap(NULL, sizeof(int64_t), PROT_READ, MAP_SHARED, file, 0);
    shift = mapped == MAP_FAILED ? NULL : mapped;
    close(file);
  }
}

int clock_gettime(clockid_t clock, struct timespec* out) {
  if (real_clock_gettime == NULL) {
    attach();
  }
  const int result = real_clock_gettime(clock, out);
  if (result == 0 && shift != NULL && (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE)) {
    out->tv_sec += atomic_load_explicit(shift, memory_order_relaxed);
  }
  return result;
}

int gettimeofday(struct timeval* restrict out, void* restrict zone) {
  (void)zone;
  struct timespec now;
  const int result = clock_gettime(CLOCK_REALTIME, &now);
  out->tv_sec = now.tv_sec;
  out->tv_usec = now.tv_nsec / 1000;
  return result;
}

time_t time(time_t* out) {
  struct timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  if (out != NULL) {
    *out = now.tv_sec;
  }
  return now.tv_sec;
}
