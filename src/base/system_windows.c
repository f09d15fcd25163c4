#include "base/system.h"

#ifdef _WIN32
#define WIN32_LEAN_AND_MEAN
#include <windows.h>

#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

double cpb_seconds_now(void) {
  LARGE_INTEGER now, rate;
  QueryPerformanceFrequency(&rate);
  QueryPerformanceCounter(&now);
  return (double)now.QuadPart / (double)rate.QuadPart;
}

void cpb_sys_sleep(double seconds) { Sleep((DWORD)(seconds * 1e3 + 0.5)); }

/* The locale belongs to the whole process unless each thread has its own. Programs that never call setlocale() have "C". */
uintptr_t cpb_sys_enter_c_locale(void) {
  const struct lconv *now = localeconv();
  if (strcmp(now->decimal_point, ".") == 0) return 0;
  int before = _configthreadlocale(_ENABLE_PER_THREAD_LOCALE);
  char *name = _strdup(setlocale(LC_NUMERIC, NULL));
  setlocale(LC_NUMERIC, "C");
  char *kept = name == NULL ? NULL : malloc(strlen(name) + 2);
  if (kept != NULL) {
    kept[0] = before == _ENABLE_PER_THREAD_LOCALE ? '1' : '0';
    strcpy(kept + 1, name);
  }
  free(name);
  return (uintptr_t)kept;
}

void cpb_sys_leave_c_locale(uintptr_t before) {
  char *kept = (char *)before;
  if (kept == NULL) return;
  setlocale(LC_NUMERIC, kept + 1);
  if (kept[0] == '0') _configthreadlocale(_DISABLE_PER_THREAD_LOCALE);
  free(kept);
}

void cpb_sys_error_text(int number, char *text, size_t room) {
  if (strerror_s(text, room, number) != 0) snprintf(text, room, "error %d", number);
}

void *cpb_sys_aligned(size_t alignment, size_t size) {
  (void)alignment;
  return malloc(size);
}

void *cpb_sys_pages(size_t bytes, bool large) {
  (void)large; /* large pages need a privilege */
  return VirtualAlloc(NULL, bytes, MEM_RESERVE | MEM_COMMIT, PAGE_READWRITE);
}

void cpb_sys_pages_free(void *memory, size_t bytes) {
  (void)bytes;
  VirtualFree(memory, 0, MEM_RELEASE);
}

void cpb_sys_want_large_pages(void *memory, size_t bytes) { (void)memory, (void)bytes; }

/* Windows 11 enables AMX by process: not requested. */
bool cpb_sys_gives_tiles(void) { return false; }

#endif
