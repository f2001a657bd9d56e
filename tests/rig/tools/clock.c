/*
 * A library to preload (ld.so(8)): it puts a program's wall clock ahead of the machine's by the number of seconds in a
 * file, which may change at any time. There are time namespaces for the kernel's other clocks, but not for this one
 * (time_namespaces(7)). Go's runtime reads the clock without the C library, so the functions of the vDSO (vdso(7)) are
 * replaced in the memory of the process.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static const volatile int64_t *ahead_seconds;

/* Not syscall(3): a thread of Go has no errno. An error is returned as the kernel returns it, as by the vDSO. */
static long kernel(long number, long first, long second) {
#if defined(__x86_64__)
  long result;
  __asm__ volatile("syscall" : "=a"(result) : "a"(number), "D"(first), "S"(second) : "rcx", "r11", "memory");
  return result;
#elif defined(__aarch64__)
  register long x8 __asm__("x8") = number;
  register long x0 __asm__("x0") = first;
  register long x1 __asm__("x1") = second;
  __asm__ volatile("svc 0" : "+r"(x0) : "r"(x8), "r"(x1) : "memory");
  return x0;
#endif
}

static long shifted_clock_gettime(clockid_t clock, struct timespec *time) {
  long result = kernel(SYS_clock_gettime, clock, (long)time);
  if (result == 0 && (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE)) time->tv_sec += *ahead_seconds;
  return result;
}

static long shifted_gettimeofday(struct timeval *time, struct timezone *zone) {
  long result = kernel(SYS_gettimeofday, (long)time, (long)zone);
  if (result == 0 && time != NULL) time->tv_sec += *ahead_seconds;
  return result;
}

#if defined(__x86_64__)
static time_t shifted_time(time_t *out) {
  struct timespec now;
  shifted_clock_gettime(CLOCK_REALTIME, &now);
  if (out != NULL) *out = now.tv_sec;
  return now.tv_sec;
}
#endif

/* Overwrites the beginning of a function of the vDSO with a jump to another function. */
static void replace(void *vdso, const char *name, void *by) {
  unsigned char *at = dlsym(vdso, name);
  if (at == NULL) _exit(124);
  uintptr_t size = sysconf(_SC_PAGESIZE);
  uintptr_t page = (uintptr_t)at & ~(size - 1);
  if (mprotect((void *)page, 2 * size, PROT_READ | PROT_WRITE | PROT_EXEC) != 0 &&
      mprotect((void *)page, size, PROT_READ | PROT_WRITE | PROT_EXEC) != 0)
    _exit(125);
#if defined(__x86_64__)
  /* movabs by, %rax; jmp *%rax */
  unsigned char jump[] = {0x48, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xe0};
  memcpy(jump + 2, &by, 8);
#elif defined(__aarch64__)
  /* ldr x16, 8; br x16 */
  unsigned char jump[] = {0x50, 0, 0, 0x58, 0, 0x02, 0x1f, 0xd6, 0, 0, 0, 0, 0, 0, 0, 0};
  memcpy(jump + 8, &by, 8);
#endif
  memcpy(at, jump, sizeof jump);
  __builtin___clear_cache((char *)at, (char *)at + sizeof jump);
}

__attribute__((constructor)) static void shift(void) {
  const char *path = getenv("LAB_CLOCK");
  void *vdso = dlopen("linux-vdso.so.1", RTLD_LAZY | RTLD_NOLOAD);
  int file = path == NULL ? -1 : open(path, O_RDONLY | O_CLOEXEC);
  if (file < 0 || vdso == NULL) _exit(126);
  ahead_seconds = mmap(NULL, sizeof *ahead_seconds, PROT_READ, MAP_SHARED, file, 0);
  close(file);
  if (ahead_seconds == MAP_FAILED) _exit(127);
#if defined(__x86_64__)
  replace(vdso, "__vdso_clock_gettime", shifted_clock_gettime);
  replace(vdso, "__vdso_gettimeofday", shifted_gettimeofday);
  replace(vdso, "__vdso_time", shifted_time);
#elif defined(__aarch64__)
  replace(vdso, "__kernel_clock_gettime", shifted_clock_gettime);
  replace(vdso, "__kernel_gettimeofday", shifted_gettimeofday);
#endif
}
