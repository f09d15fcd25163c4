/* Inline: text and errors of Windows, for src/base/system_*_windows.c. */
#ifndef CPB_BASE_SYSTEM_WIDE_H
#define CPB_BASE_SYSTEM_WIDE_H
#ifdef _WIN32

#define WIN32_LEAN_AND_MEAN
#include <windows.h>

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

enum { CPB_LONG_PATH = 240 /* from here on, Windows wants its prefix */ };

/* UTF-8 to UTF-16; the caller frees it. NULL: not UTF-8, or no memory. */
static inline wchar_t *cpb_wide(const char *text) {
  int room = MultiByteToWideChar(CP_UTF8, MB_ERR_INVALID_CHARS, text, -1, NULL, 0);
  wchar_t *wide = room <= 0 ? NULL : malloc((size_t)room * sizeof *wide);
  if (wide != NULL) MultiByteToWideChar(CP_UTF8, 0, text, -1, wide, room);
  if (wide == NULL) errno = room <= 0 ? EILSEQ : ENOMEM;
  return wide;
}

static inline char *cpb_narrow(const wchar_t *wide) {
  int room = WideCharToMultiByte(CP_UTF8, 0, wide, -1, NULL, 0, NULL, NULL);
  char *text = room <= 0 ? NULL : malloc((size_t)room);
  if (text != NULL) WideCharToMultiByte(CP_UTF8, 0, wide, -1, text, room, NULL, NULL);
  if (text == NULL) errno = ENOMEM;
  return text;
}

/* A path for the calls of Windows: absolute and with its prefix if it is long. The caller frees it. */
static inline wchar_t *cpb_wide_path(const char *path) {
  wchar_t *wide = cpb_wide(path);
  DWORD room = wide == NULL ? 0 : GetFullPathNameW(wide, 0, NULL, NULL);
  if (room < CPB_LONG_PATH || wide[0] == L'\\') return wide;
  wchar_t *whole = malloc((room + 4) * sizeof *whole);
  if (whole != NULL) {
    memcpy(whole, L"\\\\?\\", 4 * sizeof *whole);
    GetFullPathNameW(wide, room, whole + 4, NULL);
  }
  free(wide);
  if (whole == NULL) errno = ENOMEM;
  return whole;
}

/* Sets errno from GetLastError(); false. */
static inline bool cpb_windows_failed(void) {
  static const struct {
    DWORD windows;
    int number;
  } table[] = {
      {ERROR_FILE_NOT_FOUND, ENOENT},
      {ERROR_PATH_NOT_FOUND, ENOENT},
      {ERROR_INVALID_NAME, ENOENT},
      {ERROR_BAD_NETPATH, ENOENT},
      {ERROR_ACCESS_DENIED, EACCES},
      {ERROR_SHARING_VIOLATION, EACCES},
      {ERROR_USER_MAPPED_FILE, EACCES},
      {ERROR_WRITE_PROTECT, EROFS},
      {ERROR_FILE_EXISTS, EEXIST},
      {ERROR_ALREADY_EXISTS, EEXIST},
      {ERROR_DISK_FULL, ENOSPC},
      {ERROR_HANDLE_DISK_FULL, ENOSPC},
      {ERROR_NOT_ENOUGH_MEMORY, ENOMEM},
      {ERROR_OUTOFMEMORY, ENOMEM},
      {ERROR_LOCK_VIOLATION, EWOULDBLOCK},
      {ERROR_IO_PENDING, EWOULDBLOCK},
      {ERROR_INVALID_HANDLE, EBADF},
      {ERROR_BROKEN_PIPE, EPIPE},
      {ERROR_NO_DATA, EPIPE},
      {ERROR_FILENAME_EXCED_RANGE, ENAMETOOLONG},
      {ERROR_DIRECTORY, ENOTDIR},
      {ERROR_INVALID_PARAMETER, EINVAL},
      {ERROR_NEGATIVE_SEEK, EINVAL},
      {ERROR_TOO_MANY_OPEN_FILES, EMFILE},
  };
  DWORD last = GetLastError();
  errno = EIO;
  for (size_t i = 0; i < sizeof table / sizeof *table; i++)
    if (table[i].windows == last) errno = table[i].number;
  return false;
}

#endif
#endif
