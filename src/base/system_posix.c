#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "base/system.h"

#ifndef _WIN32
#include <errno.h>
#include <locale.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#ifndef __wasi__
#include <sys/mman.h>
#endif
#include <unistd.h>
#ifdef __linux__
#include <sys/syscall.h>
#endif
#ifdef __APPLE__
#include <xlocale.h>
#endif

double cpb_seconds_now(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

void cpb_sys_sleep(double seconds) {
  struct timespec nap = {.tv_sec = (time_t)seconds};
  nap.tv_nsec = (long)((seconds - (double)nap.tv_sec) * 1e9);
  nanosleep(&nap, NULL);
}

/* Created once; without memory for it the locale stays as it is. */
uintptr_t cpb_sys_enter_c_locale(void) {
  static _Atomic(locale_t) shared;
  locale_t c = atomic_load(&shared), none = (locale_t)0;
  if (c == (locale_t)0) {
    c = newlocale(LC_NUMERIC_MASK, "C", (locale_t)0);
    if (!atomic_compare_exchange_strong(&shared, &none, c)) {
      if (c != (locale_t)0) freelocale(c);
      c = none;
    }
  }
  return (uintptr_t)uselocale(c);
}

void cpb_sys_leave_c_locale(uintptr_t before) { uselocale((locale_t)before); }

/* strerror_r has two forms; this is the text of both. */
static inline const char *text_of(const char *said, const char *text) { return said != NULL ? said : text; }
static inline const char *text_of_int(int failed, const char *text) { return failed == 0 ? text : ""; }

void cpb_sys_error_text(int number, char *text, size_t room) {
  char said[128] = "";
  const char *found = _Generic(strerror_r(number, said, sizeof said), int
                               : text_of_int, default
                               : text_of)(strerror_r(number, said, sizeof said), said);
  if (*found != 0)
    snprintf(text, room, "%s", found);
  else
    snprintf(text, room, "error %d", number);
}

void *cpb_sys_aligned(size_t alignment, size_t size) { return aligned_alloc(alignment, size); }

#ifdef __wasi__ /* without an MMU */
void *cpb_sys_pages(size_t bytes, bool large) {
  (void)large;
  return calloc(1, bytes);
}
void cpb_sys_pages_free(void *memory, size_t bytes) {
  (void)bytes;
  free(memory);
}
void cpb_sys_want_large_pages(void *memory, size_t bytes) { (void)memory, (void)bytes; }
#else
enum { LARGE_PAGE = 2 << 20 };

void *cpb_sys_pages(size_t bytes, bool large) {
  size_t padded = bytes + LARGE_PAGE;
  char *memory = mmap(NULL, padded, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return NULL;
  size_t before = (size_t)(-(uintptr_t)memory % LARGE_PAGE);
  if (before > 0) munmap(memory, before);
  munmap(memory + before + bytes, LARGE_PAGE - before);
  if (large) cpb_sys_want_large_pages(memory + before, bytes);
  return memory + before;
}

void cpb_sys_want_large_pages(void *memory, size_t bytes) {
#ifdef MADV_HUGEPAGE
  uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE), first = (uintptr_t)memory / page * page;
  (void)madvise((void *)first, (uintptr_t)memory + bytes - first, MADV_HUGEPAGE);
#else
  (void)memory, (void)bytes;
#endif
}

void cpb_sys_pages_free(void *memory, size_t bytes) { munmap(memory, bytes); }
#endif

bool cpb_sys_gives_tiles(void) {
#if defined(__linux__) && defined(SYS_arch_prctl)
  enum { REQUEST_PERMISSION = 0x1023, TILE_DATA = 18 };
  return syscall(SYS_arch_prctl, REQUEST_PERMISSION, TILE_DATA) == 0;
#else
  return false;
#endif
}

#endif
