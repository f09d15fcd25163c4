/* The operating system, for everything else in this tree: only src/base/system_* includes headers of a system or asks which one it
 * is compiled for (tools/check-system). Here: time, the locale, memory, messages; files, threads, processes and loaded libraries
 * have headers of their own. Functions that fail set errno, on every system. */
#ifndef CPB_BASE_SYSTEM_H
#define CPB_BASE_SYSTEM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Seconds since some time in the past, for durations. */
double cpb_seconds_now(void);

void cpb_sys_sleep(double seconds);

/* Gives the thread the C locale and returns the one to restore. */
uintptr_t cpb_sys_enter_c_locale(void);
void cpb_sys_leave_c_locale(uintptr_t before);

/* The system's sentence for an errno. */
void cpb_sys_error_text(int number, char *text, size_t room);

/* aligned_alloc, released by free(). Alignment is for speed: where free() accepts no aligned memory, it is that of malloc. */
void *cpb_sys_aligned(size_t alignment, size_t size);

/* Zeroed pages, aligned to 2 MiB where the system can place them so; large: in large pages, if it has some. NULL without memory. */
void *cpb_sys_pages(size_t bytes, bool large);
void cpb_sys_pages_free(void *memory, size_t bytes);
/* Asks for large pages from now on; a whole mapping, its first page included. */
void cpb_sys_want_large_pages(void *memory, size_t bytes);

/* Requests the tile registers of AMX for this process; false if the system does not give them. */
bool cpb_sys_gives_tiles(void);

#endif
