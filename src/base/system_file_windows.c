#include "base/system_file.h"

#ifdef _WIN32
#include "base/system_wide.h"

#include <fcntl.h>
#include <io.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "base/system.h"

enum { PIECE = 1 << 30, LOCK_TRIES = 30000, OPEN_MOST = 8192 };

static HANDLE handle_of(int fd) { return (HANDLE)_get_osfhandle(fd); }

static bool done(BOOL succeeded) { return succeeded ? true : cpb_windows_failed(); }

/* ---- what a name or a descriptor refers to ---- */

static bool tell_facts(HANDLE handle, cpb_file_facts *facts) {
  *facts = (cpb_file_facts){.kind = CPB_FILE_OTHER, .mode = 0666};
  if (GetFileType(handle) != FILE_TYPE_DISK) return handle != INVALID_HANDLE_VALUE || cpb_windows_failed();
  BY_HANDLE_FILE_INFORMATION found;
  if (!GetFileInformationByHandle(handle, &found)) return cpb_windows_failed();
  uint64_t changed =
      (uint64_t)found.ftLastWriteTime.dwHighDateTime << 32 | found.ftLastWriteTime.dwLowDateTime;
  bool folder = (found.dwFileAttributes & FILE_ATTRIBUTE_DIRECTORY) != 0;
  *facts = (cpb_file_facts){
      .kind = folder ? CPB_FILE_FOLDER : CPB_FILE_REGULAR,
      .mode = (found.dwFileAttributes & FILE_ATTRIBUTE_READONLY) != 0 ? 0444 : 0666,
      .device = found.dwVolumeSerialNumber,
      .file = (uint64_t)found.nFileIndexHigh << 32 | found.nFileIndexLow,
      .size = (uint64_t)found.nFileSizeHigh << 32 | found.nFileSizeLow,
      .seconds = (int64_t)(changed / 10000000),
      .nanoseconds = (int64_t)(changed % 10000000 * 100),
  };
  return true;
}

/* To look at it: a file or a folder; link: at a symbolic link itself. */
static HANDLE open_to_look(const char *path, bool link) {
  wchar_t *wide = cpb_wide_path(path);
  if (wide == NULL) return INVALID_HANDLE_VALUE;
  HANDLE handle = CreateFileW(wide, FILE_READ_ATTRIBUTES,
                              FILE_SHARE_READ | FILE_SHARE_WRITE | FILE_SHARE_DELETE, NULL, OPEN_EXISTING,
                              FILE_FLAG_BACKUP_SEMANTICS | (link ? FILE_FLAG_OPEN_REPARSE_POINT : 0), NULL);
  if (handle == INVALID_HANDLE_VALUE) cpb_windows_failed();
  free(wide);
  return handle;
}

static bool look_at(const char *path, bool link, cpb_file_facts *facts) {
  HANDLE handle = open_to_look(path, link);
  if (handle == INVALID_HANDLE_VALUE) return false;
  bool told = tell_facts(handle, facts);
  CloseHandle(handle);
  return told;
}

bool cpb_sys_facts(const char *path, cpb_file_facts *facts) { return look_at(path, false, facts); }

bool cpb_sys_facts_of(int fd, cpb_file_facts *facts) { return tell_facts(handle_of(fd), facts); }

bool cpb_sys_same_file(const cpb_file_facts *a, const cpb_file_facts *b) {
  return a->device == b->device && a->file == b->file;
}

bool cpb_sys_is_there(const char *path) {
  cpb_file_facts facts;
  return look_at(path, true, &facts);
}

bool cpb_sys_is_named(int fd, const char *path) {
  cpb_file_facts opened, named;
  return cpb_sys_facts_of(fd, &opened) && look_at(path, true, &named) && cpb_sys_same_file(&opened, &named);
}

bool cpb_sys_may_write(const char *path) {
  cpb_file_facts facts;
  if (!cpb_sys_facts(path, &facts)) return false;
  if (facts.mode == 0444) errno = EACCES;
  return facts.mode != 0444;
}

static bool separates(char c) { return c == '/' || c == '\\'; }

size_t cpb_sys_folder_length(const char *path) {
  size_t length = 0;
  for (size_t i = 0; path[i] != 0; i++)
    if (separates(path[i]) || (i == 1 && path[i] == ':')) length = i + 1;
  return length;
}

bool cpb_sys_is_absolute(const char *path) { return separates(path[0]) || (path[0] != 0 && path[1] == ':'); }

/* As the system names an open file, without the prefix of long paths. */
static char *final_path(HANDLE handle) {
  DWORD room = GetFinalPathNameByHandleW(handle, NULL, 0, FILE_NAME_NORMALIZED);
  wchar_t *wide = room == 0 ? NULL : malloc((room + 1) * sizeof *wide);
  if (wide == NULL || GetFinalPathNameByHandleW(handle, wide, room + 1, FILE_NAME_NORMALIZED) == 0) {
    cpb_windows_failed();
    free(wide);
    return NULL;
  }
  wchar_t *from = wide;
  if (wcsncmp(wide, L"\\\\?\\UNC\\", 8) == 0)
    *(from = wide + 6) = L'\\';
  else if (wcsncmp(wide, L"\\\\?\\", 4) == 0)
    from = wide + 4;
  char *path = cpb_narrow(from);
  free(wide);
  return path;
}

char *cpb_sys_resolve(const char *path) {
  HANDLE handle = open_to_look(path, false);
  if (handle == INVALID_HANDLE_VALUE) return NULL;
  char *resolved = final_path(handle);
  CloseHandle(handle);
  return resolved;
}

char *cpb_sys_follow_links(const char *path) {
  wchar_t *wide = cpb_wide_path(path);
  DWORD attributes = wide == NULL ? INVALID_FILE_ATTRIBUTES : GetFileAttributesW(wide);
  free(wide);
  bool link = attributes != INVALID_FILE_ATTRIBUTES && (attributes & FILE_ATTRIBUTE_REPARSE_POINT) != 0;
  char *resolved = link ? cpb_sys_resolve(path) : NULL;
  return resolved != NULL ? resolved : _strdup(path);
}

/* ---- opening ---- */

/* Where reads and writes of a descriptor continue: calls at an offset move the position that Windows keeps. */
static _Atomic uint64_t positions[OPEN_MOST];

static bool has_position(int fd) {
  return fd > CPB_STDERR && fd < OPEN_MOST && GetFileType(handle_of(fd)) == FILE_TYPE_DISK;
}

static int descriptor(HANDLE handle, int flags) {
  if (handle == INVALID_HANDLE_VALUE) {
    cpb_windows_failed();
    return -1;
  }
  int fd = _open_osfhandle((intptr_t)handle, flags | _O_BINARY | _O_NOINHERIT);
  if (fd < 0) CloseHandle(handle);
  if (fd >= 0 && fd < OPEN_MOST) atomic_store(&positions[fd], 0);
  return fd;
}

int cpb_sys_open(const char *path, unsigned how, unsigned mode) {
  (void)mode;
  wchar_t *wide = cpb_wide_path(path);
  if (wide == NULL) return -1;
  bool changes = (how & CPB_OPEN_CHANGE) != 0, writes = (how & CPB_OPEN_WRITE) != 0;
  DWORD access = changes ? GENERIC_READ | GENERIC_WRITE | DELETE : writes ? GENERIC_WRITE : GENERIC_READ;
  DWORD link = (how & CPB_OPEN_NO_LINK) != 0 ? FILE_FLAG_OPEN_REPARSE_POINT : 0;
  HANDLE handle = CreateFileW(wide, access, FILE_SHARE_READ | FILE_SHARE_WRITE | FILE_SHARE_DELETE, NULL,
                              (how & CPB_OPEN_NEW) != 0 ? CREATE_NEW : OPEN_EXISTING,
                              FILE_ATTRIBUTE_NORMAL | FILE_FLAG_BACKUP_SEMANTICS | link, NULL);
  free(wide);
  return descriptor(handle, changes ? _O_RDWR : writes ? _O_WRONLY : _O_RDONLY);
}

int cpb_sys_open_unnamed(const char *folder, unsigned mode) {
  (void)folder, (void)mode;
  return -1;
}

int cpb_sys_duplicate(int fd) {
  HANDLE copy = INVALID_HANDLE_VALUE;
  if (!DuplicateHandle(GetCurrentProcess(), handle_of(fd), GetCurrentProcess(), &copy, 0, FALSE,
                       DUPLICATE_SAME_ACCESS))
    copy = INVALID_HANDLE_VALUE;
  return descriptor(copy, _O_RDWR);
}

void cpb_sys_close(int fd) { _close(fd); }

bool cpb_sys_set_mode(int fd, unsigned mode) {
  (void)fd, (void)mode;
  return true;
}

FILE *cpb_sys_fopen(const char *path, const char *mode) {
  wchar_t *wide = cpb_wide_path(path), binary[8];
  if (wide == NULL) return NULL;
  size_t used = 0;
  for (; mode[used] != 0 && used < 5; used++) binary[used] = (wchar_t)(unsigned char)mode[used];
  if (strchr(mode, 'b') == NULL) binary[used++] = L'b';
  binary[used] = 0;
  FILE *file = _wfopen(wide, binary);
  free(wide);
  return file;
}

FILE *cpb_sys_scratch_file(void) {
  wchar_t folder[MAX_PATH + 1], name[MAX_PATH + 1];
  if (GetTempPathW(MAX_PATH, folder) == 0 || GetTempFileNameW(folder, L"cpb", 0, name) == 0) {
    cpb_windows_failed();
    return NULL;
  }
  HANDLE handle = CreateFileW(name, GENERIC_READ | GENERIC_WRITE | DELETE,
                              FILE_SHARE_READ | FILE_SHARE_WRITE | FILE_SHARE_DELETE, NULL, CREATE_ALWAYS,
                              FILE_ATTRIBUTE_TEMPORARY | FILE_FLAG_DELETE_ON_CLOSE, NULL);
  int fd = descriptor(handle, _O_RDWR);
  FILE *file = fd < 0 ? NULL : _fdopen(fd, "w+b");
  if (fd >= 0 && file == NULL) _close(fd);
  return file;
}

/* Windows has no streams of a program's own: the bytes wait in a temporary file. */
FILE *cpb_sys_stream_open(cpb_append *append, void *to) {
  (void)append, (void)to;
  return cpb_sys_scratch_file();
}

bool cpb_sys_stream_close(FILE *stream, cpb_append *append, void *to) {
  char bytes[4096];
  bool whole = fflush(stream) == 0 && ferror(stream) == 0;
  rewind(stream);
  for (size_t got = 1; whole && got > 0;) {
    got = fread(bytes, 1, sizeof bytes, stream);
    whole = got == 0 ? ferror(stream) == 0 : append(to, bytes, got) == got;
  }
  return fclose(stream) == 0 && whole;
}

/* ---- bytes ---- */

static OVERLAPPED at(uint64_t offset) {
  return (OVERLAPPED){.Offset = (DWORD)offset, .OffsetHigh = (DWORD)(offset >> 32)};
}

static int64_t read_from(int fd, OVERLAPPED *where, void *bytes, size_t count) {
  DWORD got = 0;
  if (ReadFile(handle_of(fd), bytes, (DWORD)(count < PIECE ? count : PIECE), &got, where)) return got;
  DWORD reason = GetLastError();
  if (reason == ERROR_HANDLE_EOF || reason == ERROR_BROKEN_PIPE || reason == ERROR_OPERATION_ABORTED)
    return 0;
  cpb_windows_failed();
  return -1;
}

static int64_t write_to(int fd, OVERLAPPED *where, const void *bytes, size_t count) {
  DWORD put = 0;
  if (WriteFile(handle_of(fd), bytes, (DWORD)(count < PIECE ? count : PIECE), &put, where)) return put;
  cpb_windows_failed();
  return -1;
}

int64_t cpb_sys_read_at(int fd, uint64_t offset, void *bytes, size_t count) {
  OVERLAPPED where = at(offset);
  return read_from(fd, &where, bytes, count);
}

int64_t cpb_sys_write_at(int fd, uint64_t offset, const void *bytes, size_t count) {
  OVERLAPPED where = at(offset);
  return write_to(fd, &where, bytes, count);
}

int64_t cpb_sys_read(int fd, void *bytes, size_t count) {
  if (!has_position(fd)) return read_from(fd, NULL, bytes, count);
  int64_t got = cpb_sys_read_at(fd, atomic_load(&positions[fd]), bytes, count);
  if (got > 0) atomic_fetch_add(&positions[fd], (uint64_t)got);
  return got;
}

int64_t cpb_sys_write(int fd, const void *bytes, size_t count) {
  if (!has_position(fd)) return write_to(fd, NULL, bytes, count);
  int64_t put = cpb_sys_write_at(fd, atomic_load(&positions[fd]), bytes, count);
  if (put > 0) atomic_fetch_add(&positions[fd], (uint64_t)put);
  return put;
}

bool cpb_sys_resize(int fd, uint64_t size) {
  FILE_END_OF_FILE_INFO end = {.EndOfFile = {.QuadPart = (LONGLONG)size}};
  return done(SetFileInformationByHandle(handle_of(fd), FileEndOfFileInfo, &end, sizeof end));
}

int64_t cpb_sys_position(int fd) { return has_position(fd) ? (int64_t)atomic_load(&positions[fd]) : -1; }

bool cpb_sys_rewind(int fd) {
  if (has_position(fd)) {
    atomic_store(&positions[fd], 0);
    return true;
  }
  return done(SetFilePointerEx(handle_of(fd), (LARGE_INTEGER){.QuadPart = 0}, NULL, FILE_BEGIN));
}

bool cpb_sys_sync(int fd) { return done(FlushFileBuffers(handle_of(fd))); }

bool cpb_sys_sync_data(int fd) { return cpb_sys_sync(fd); }

/* Renames are written through (cpb_sys_rename). */
bool cpb_sys_sync_folder(const char *folder) {
  (void)folder;
  return true;
}

/* ---- names ---- */

/* POSIX semantics: also if a program has the target open. Older systems and other file systems than NTFS do not know them. */
static bool rename_open(const wchar_t *from, const wchar_t *to) {
  enum { REPLACE = 1, POSIX = 2, RENAME_EX = 22 };
  typedef struct rename_info {
    DWORD flags;
    HANDLE root;
    DWORD length;
    wchar_t name[1];
  } rename_info;
  DWORD room = GetFullPathNameW(to, 0, NULL, NULL);
  size_t bytes = sizeof(rename_info) + room * sizeof(wchar_t);
  rename_info *info = calloc(1, bytes);
  HANDLE handle =
      CreateFileW(from, DELETE | SYNCHRONIZE, FILE_SHARE_READ | FILE_SHARE_WRITE | FILE_SHARE_DELETE, NULL,
                  OPEN_EXISTING, FILE_FLAG_WRITE_THROUGH, NULL);
  bool renamed = false;
  if (info != NULL && handle != INVALID_HANDLE_VALUE) {
    info->flags = REPLACE | POSIX;
    info->length = GetFullPathNameW(to, room, info->name, NULL) * (DWORD)sizeof(wchar_t);
    renamed = SetFileInformationByHandle(handle, (FILE_INFO_BY_HANDLE_CLASS)RENAME_EX, info, (DWORD)bytes);
  }
  if (handle != INVALID_HANDLE_VALUE) CloseHandle(handle);
  free(info);
  return renamed;
}

static bool move(const char *from, const char *to, bool replace) {
  wchar_t *source = cpb_wide_path(from), *target = cpb_wide_path(to);
  bool moved = source != NULL && target != NULL;
  if (moved)
    moved =
        (replace && rename_open(source, target)) ||
        done(MoveFileExW(source, target, MOVEFILE_WRITE_THROUGH | (replace ? MOVEFILE_REPLACE_EXISTING : 0)));
  free(source);
  free(target);
  return moved;
}

/* ".NAME.capball-replaced" beside a file. */
static char *aside(const char *path) {
  size_t folder = cpb_sys_folder_length(path), room = strlen(path) + 40;
  char *name = malloc(room);
  if (name != NULL) snprintf(name, room, "%.*s.%s.capball-replaced", (int)folder, path, path + folder);
  return name;
}

/* In two steps, for a file that is mapped where the system does not replace such files: a process that ends between them leaves the
 * file under the other name. */
static bool exchange(const char *from, const char *to) {
  char *old = aside(to);
  bool moved = old != NULL && move(to, old, true), placed = moved && move(from, to, false);
  if (moved && !placed) {
    int reason = errno;
    move(old, to, false);
    errno = reason;
  }
  if (placed) cpb_sys_remove(old); /* goes with its last handle */
  free(old);
  return placed;
}

bool cpb_sys_rename(const char *from, const char *to) {
  return move(from, to, true) || (errno == EACCES && cpb_sys_may_write(to) && exchange(from, to));
}

bool cpb_sys_link(int fd, const char *from, const char *name) {
  (void)fd;
  return move(from, name, false);
}

bool cpb_sys_remove(const char *path) {
  wchar_t *wide = cpb_wide_path(path);
  bool removed = wide != NULL && done(DeleteFileW(wide));
  free(wide);
  return removed;
}

/* ---- mappings ---- */

size_t cpb_sys_map_unit(void) {
  SYSTEM_INFO info;
  GetSystemInfo(&info);
  return info.dwAllocationGranularity;
}

void *cpb_sys_map(int fd, uint64_t offset, size_t count, bool soon) {
  (void)soon;
  HANDLE mapping = CreateFileMappingW(handle_of(fd), NULL, PAGE_READONLY, 0, 0, NULL);
  void *memory = mapping == NULL
                     ? NULL
                     : MapViewOfFile(mapping, FILE_MAP_READ, (DWORD)(offset >> 32), (DWORD)offset, count);
  if (memory == NULL) cpb_windows_failed();
  if (mapping != NULL) CloseHandle(mapping);
  return memory;
}

void cpb_sys_unmap(void *memory, size_t count) {
  (void)count;
  UnmapViewOfFile(memory);
}

void cpb_sys_expect_anywhere(void *memory, size_t count) { (void)memory, (void)count; }

/* ---- locks ---- */

/* Windows locks bytes against reads and writes, too: these are two that no file has. */
static const uint64_t first_lock = UINT64_C(0x7ffffffffffffff0), second_lock = UINT64_C(0x7ffffffffffffff8);

static bool lock_byte(int fd, uint64_t byte, bool shared) {
  OVERLAPPED where = at(byte);
  DWORD how = LOCKFILE_FAIL_IMMEDIATELY | (shared ? 0 : LOCKFILE_EXCLUSIVE_LOCK);
  return done(LockFileEx(handle_of(fd), how, 0, 1, 0, &where));
}

bool cpb_sys_lock(int fd, bool shared) { return lock_byte(fd, first_lock, shared); }

void cpb_sys_unlock(int fd) {
  OVERLAPPED where = at(first_lock);
  UnlockFileEx(handle_of(fd), 0, 1, 0, &where);
}

const char *cpb_sys_lock_holder(int fd, char *text, size_t room) {
  (void)fd;
  if (room > 0) *text = 0;
  return text;
}

bool cpb_sys_lock_writing(int fd) { return lock_byte(fd, second_lock, false) || errno != EWOULDBLOCK; }

/* An object of the system with a name of the folder, which exists as long as a process has a handle of it. */
int cpb_sys_lock_names(const char *folder) {
  cpb_file_facts facts;
  wchar_t name[80];
  if (!cpb_sys_facts(folder, &facts)) return -1;
  swprintf(name, 80, L"Local\\capball-%llx-%llx", (unsigned long long)facts.device,
           (unsigned long long)facts.file);
  for (int tries = 0; tries < LOCK_TRIES; tries++) {
    HANDLE object = CreateEventW(NULL, TRUE, FALSE, name);
    if (object == NULL) return -1;
    if (GetLastError() != ERROR_ALREADY_EXISTS) return (int)(intptr_t)object; /* handles have 32 bits */
    CloseHandle(object);
    cpb_sys_sleep(0.001);
  }
  return -1;
}

void cpb_sys_unlock_names(int handle) {
  if (handle >= 0) CloseHandle((HANDLE)(intptr_t)handle);
}

#endif
