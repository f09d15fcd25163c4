#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* O_TMPFILE, locks of an open file, MAP_POPULATE */
#endif
#include "base/system_file.h"

#ifndef _WIN32
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#ifdef __linux__
#include <stddef.h>
#include <sys/socket.h>
#include <sys/un.h>
#endif

#include "base/system.h"

/* PIECE: bytes of one call; Linux limits a read to about 2 GiB anyway. */
enum { LINKS_MAX = 40, PIECE = 1 << 30, LOCK_TRIES = 30000, PATH_ROOM = 4096 };

/* ---- what a name or a descriptor refers to ---- */

static void tell_facts(const struct stat *from, cpb_file_facts *facts) {
#ifdef __APPLE__
  struct timespec changed = from->st_mtimespec;
#else
  struct timespec changed = from->st_mtim;
#endif
  *facts = (cpb_file_facts){
      .kind = S_ISREG(from->st_mode)   ? CPB_FILE_REGULAR
              : S_ISDIR(from->st_mode) ? CPB_FILE_FOLDER
                                       : CPB_FILE_OTHER,
      .mode = from->st_mode & 0777,
      .device = (uint64_t)from->st_dev,
      .file = (uint64_t)from->st_ino,
      .size = (uint64_t)from->st_size,
      .seconds = changed.tv_sec,
      .nanoseconds = changed.tv_nsec,
  };
}

bool cpb_sys_facts(const char *path, cpb_file_facts *facts) {
  struct stat found;
  if (stat(path, &found) != 0) return false;
  tell_facts(&found, facts);
  return true;
}

bool cpb_sys_facts_of(int fd, cpb_file_facts *facts) {
  struct stat found;
  if (fstat(fd, &found) != 0) return false;
  tell_facts(&found, facts);
  return true;
}

bool cpb_sys_same_file(const cpb_file_facts *a, const cpb_file_facts *b) {
  return a->device == b->device && a->file == b->file;
}

bool cpb_sys_is_there(const char *path) {
  struct stat found;
  return lstat(path, &found) == 0;
}

bool cpb_sys_is_named(int fd, const char *path) {
  struct stat opened, named;
  return fstat(fd, &opened) == 0 && lstat(path, &named) == 0 && opened.st_dev == named.st_dev &&
         opened.st_ino == named.st_ino;
}

bool cpb_sys_may_write(const char *path) { return access(path, W_OK) == 0; }

size_t cpb_sys_folder_length(const char *path) {
  const char *slash = strrchr(path, '/');
  return slash == NULL ? 0 : (size_t)(slash - path) + 1;
}

bool cpb_sys_is_absolute(const char *path) { return *path == '/'; }

/* `length` bytes of path followed by name. */
static char *join(const char *path, size_t length, const char *name) {
  size_t size = length + strlen(name) + 1;
  char *joined = malloc(size);
  if (joined != NULL) snprintf(joined, size, "%.*s%s", (int)length, path, name);
  return joined;
}

/* Unlike realpath(), also if the end does not exist yet. */
char *cpb_sys_follow_links(const char *path) {
  char *place = join("", 0, path), link[PATH_ROOM];
  for (int i = 0; place != NULL && i < LINKS_MAX; i++) {
    ssize_t length = readlink(place, link, sizeof link - 1);
    if (length < 0) return place;
    link[length] = 0;
    char *next = join(place, link[0] == '/' ? 0 : cpb_sys_folder_length(place), link);
    free(place);
    place = next;
  }
  errno = place == NULL ? ENOMEM : ELOOP;
  free(place);
  return NULL;
}

char *cpb_sys_resolve(const char *path) { return realpath(path, NULL); }

/* ---- opening ---- */

int cpb_sys_open(const char *path, unsigned how, unsigned mode) {
  int flags = O_CLOEXEC | ((how & CPB_OPEN_CHANGE) != 0  ? O_RDWR
                           : (how & CPB_OPEN_WRITE) != 0 ? O_WRONLY
                                                         : O_RDONLY);
  if ((how & CPB_OPEN_NEW) != 0) flags |= O_CREAT | O_EXCL;
  if ((how & CPB_OPEN_AT_ONCE) != 0) flags |= O_NONBLOCK;
  if ((how & CPB_OPEN_NO_LINK) != 0) flags |= O_NOFOLLOW;
  return open(path, flags, mode);
}

#ifdef O_TMPFILE
static void name_of_descriptor(int fd, char name[40]) { snprintf(name, 40, "/proc/self/fd/%d", fd); }
#endif

int cpb_sys_open_unnamed(const char *folder, unsigned mode) {
#ifdef O_TMPFILE
  char name[40];
  int fd = open(folder, O_TMPFILE | O_RDWR | O_CLOEXEC, mode);
  if (fd < 0) return -1;
  name_of_descriptor(fd, name);
  if (access(name, F_OK) == 0 && cpb_sys_lock(fd, false)) return fd;
  close(fd);
#else
  (void)folder, (void)mode;
#endif
  return -1;
}

int cpb_sys_duplicate(int fd) {
#ifdef F_DUPFD_CLOEXEC
  return fcntl(fd, F_DUPFD_CLOEXEC, 0);
#else
  (void)fd;
  errno = ENOSYS;
  return -1;
#endif
}

void cpb_sys_close(int fd) { close(fd); }

bool cpb_sys_set_mode(int fd, unsigned mode) { return fchmod(fd, (mode_t)mode) == 0; }

FILE *cpb_sys_fopen(const char *path, const char *mode) { return fopen(path, mode); }

/* Where there are no files without a name it has one for a moment. */
static int open_nameless(const char *folder) {
#ifdef O_TMPFILE
  int nameless = open(folder, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
  if (nameless >= 0) return nameless;
#endif
#ifdef __wasi__
  (void)folder;
  return -1;
#else
  char path[PATH_ROOM];
  int length = snprintf(path, sizeof path, "%s/capball-XXXXXX", folder);
  if (length >= PATH_ROOM) errno = ENAMETOOLONG;
  int fd = length < PATH_ROOM ? mkstemp(path) : -1;
  if (fd >= 0) unlink(path);
  return fd;
#endif
}

FILE *cpb_sys_scratch_file(void) {
  const char *folder = getenv("TMPDIR");
  int fd = open_nameless(folder != NULL && *folder != 0 ? folder : "/tmp");
  if (fd < 0) return NULL;
  FILE *file = fdopen(fd, "w+");
  if (file == NULL) close(fd);
  return file;
}

typedef struct appender {
  cpb_append *append;
  void *to;
} appender;

#ifdef __APPLE__
static int pass_on(void *cookie, const char *bytes, int count) {
  const appender *of = cookie;
  return (int)of->append(of->to, bytes, (size_t)count);
}
static int end_stream(void *cookie) {
  free(cookie);
  return 0;
}
static FILE *open_stream(appender *of) { return funopen(of, NULL, pass_on, NULL, end_stream); }
#else
static ssize_t pass_on(void *cookie, const char *bytes, size_t count) {
  const appender *of = cookie;
  return (ssize_t)of->append(of->to, bytes, count);
}
static int end_stream(void *cookie) {
  free(cookie);
  return 0;
}
static FILE *open_stream(appender *of) {
  return fopencookie(of, "w", (cookie_io_functions_t){.write = pass_on, .close = end_stream});
}
#endif

FILE *cpb_sys_stream_open(cpb_append *append, void *to) {
  appender *of = malloc(sizeof *of);
  if (of == NULL) return NULL;
  *of = (appender){append, to};
  FILE *stream = open_stream(of);
  if (stream == NULL) free(of);
  return stream;
}

bool cpb_sys_stream_close(FILE *stream, cpb_append *append, void *to) {
  (void)append, (void)to;
  bool failed = ferror(stream) != 0;
  return fclose(stream) == 0 && !failed;
}

/* ---- bytes ---- */

int64_t cpb_sys_read(int fd, void *bytes, size_t count) {
  ssize_t n;
  do n = read(fd, bytes, count < PIECE ? count : PIECE);
  while (n < 0 && errno == EINTR);
  return n;
}

int64_t cpb_sys_read_at(int fd, uint64_t offset, void *bytes, size_t count) {
  ssize_t n;
  do n = pread(fd, bytes, count < PIECE ? count : PIECE, (off_t)offset);
  while (n < 0 && errno == EINTR);
  return n;
}

int64_t cpb_sys_write(int fd, const void *bytes, size_t count) {
  ssize_t n;
  do n = write(fd, bytes, count < PIECE ? count : PIECE);
  while (n < 0 && errno == EINTR);
  return n;
}

int64_t cpb_sys_write_at(int fd, uint64_t offset, const void *bytes, size_t count) {
  ssize_t n;
  do n = pwrite(fd, bytes, count < PIECE ? count : PIECE, (off_t)offset);
  while (n < 0 && errno == EINTR);
  return n;
}

bool cpb_sys_resize(int fd, uint64_t size) { return ftruncate(fd, (off_t)size) == 0; }

int64_t cpb_sys_position(int fd) { return lseek(fd, 0, SEEK_CUR); }

bool cpb_sys_rewind(int fd) { return lseek(fd, 0, SEEK_SET) == 0; }

/* fsync of macOS leaves bytes in the cache of the disk. */
bool cpb_sys_sync(int fd) {
#ifdef F_FULLFSYNC
  if (fcntl(fd, F_FULLFSYNC) == 0) return true;
#endif
  return fsync(fd) == 0;
}

bool cpb_sys_sync_data(int fd) {
#ifdef F_FULLFSYNC
  return cpb_sys_sync(fd);
#else
  return fdatasync(fd) == 0;
#endif
}

/* Some file systems cannot sync a directory (EINVAL), and one may be writable but not readable: ignored. */
bool cpb_sys_sync_folder(const char *folder) {
  int fd = open(folder, O_RDONLY | O_CLOEXEC);
  if (fd < 0) return true;
  bool done = fsync(fd) == 0 || errno == EINVAL;
  int reason = errno;
  close(fd);
  errno = reason;
  return done;
}

/* ---- names ---- */

bool cpb_sys_rename(const char *from, const char *to) { return rename(from, to) == 0; }

bool cpb_sys_link(int fd, const char *from, const char *name) {
  if (from != NULL) {
    bool linked = linkat(AT_FDCWD, from, AT_FDCWD, name, AT_SYMLINK_FOLLOW) == 0;
    if (linked) unlink(from);
    return linked;
  }
#ifdef O_TMPFILE
  char descriptor[40];
  name_of_descriptor(fd, descriptor);
  return linkat(AT_FDCWD, descriptor, AT_FDCWD, name, AT_SYMLINK_FOLLOW) == 0;
#else
  (void)fd;
  errno = ENOENT;
  return false;
#endif
}

bool cpb_sys_remove(const char *path) { return unlink(path) == 0; }

/* ---- mappings ---- */

#ifndef MAP_POPULATE
#define MAP_POPULATE 0
#endif

size_t cpb_sys_map_unit(void) { return (size_t)sysconf(_SC_PAGESIZE); }

void *cpb_sys_map(int fd, uint64_t offset, size_t count, bool soon) {
  void *memory = mmap(NULL, count, PROT_READ, MAP_SHARED | (soon ? MAP_POPULATE : 0), fd, (off_t)offset);
  return memory == MAP_FAILED ? NULL : memory;
}

void cpb_sys_unmap(void *memory, size_t count) { munmap(memory, count); }

void cpb_sys_expect_anywhere(void *memory, size_t count) {
#ifdef MADV_RANDOM
  (void)madvise(memory, count, MADV_RANDOM);
#else
  (void)memory, (void)count;
#endif
}

/* ---- locks ---- */

#ifdef __wasi__ /* one process */
bool cpb_sys_lock(int fd, bool shared) {
  (void)fd, (void)shared;
  return true;
}
void cpb_sys_unlock(int fd) { (void)fd; }
#else
bool cpb_sys_lock(int fd, bool shared) { return flock(fd, (shared ? LOCK_SH : LOCK_EX) | LOCK_NB) == 0; }
void cpb_sys_unlock(int fd) { (void)flock(fd, LOCK_UN); }
#endif

#ifdef __linux__
/* 0: nobody, or files of two systems have this number. */
static long process_with_lock(unsigned long long file) {
  char line[256];
  long holder = 0, process;
  unsigned long long locked;
  FILE *locks = fopen("/proc/locks", "re");
  while (locks != NULL && fgets(line, sizeof line, locks) != NULL)
    if (sscanf(line, "%*s FLOCK %*s WRITE %ld %*x:%*x:%llu", &process, &locked) == 2 && locked == file)
      holder = holder == 0 ? process : -1;
  if (locks != NULL) fclose(locks);
  return holder > 0 ? holder : 0;
}

static void name_of_process(long process, char *name, int room) {
  char path[64];
  snprintf(path, sizeof path, "/proc/%ld/comm", process);
  FILE *file = fopen(path, "re");
  *name = 0;
  if (file != NULL && fgets(name, room, file) != NULL) name[strcspn(name, "\n")] = 0;
  if (file != NULL) fclose(file);
}

const char *cpb_sys_lock_holder(int fd, char *text, size_t room) {
  char name[64];
  struct stat seen;
  long holder = fstat(fd, &seen) == 0 ? process_with_lock(seen.st_ino) : 0;
  *text = 0;
  if (holder == 0) return text;
  name_of_process(holder, name, sizeof name);
  snprintf(text, room, *name != 0 ? ", by process %ld (%s)" : ", by process %ld", holder, name);
  return text;
}
#else
const char *cpb_sys_lock_holder(int fd, char *text, size_t room) {
  (void)fd;
  if (room > 0) *text = 0;
  return text;
}
#endif

bool cpb_sys_lock_writing(int fd) {
#ifdef F_OFD_SETLK
  struct flock ours = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
  return fcntl(fd, F_OFD_SETLK, &ours) == 0 || (errno != EAGAIN && errno != EACCES);
#else
  (void)fd;
  return true;
#endif
}

#ifdef __linux__
/* Binds an abstract socket, whose name only one process can hold at a time; locks on the directory belong to others. */
static bool take_name(int fd, const cpb_file_facts *folder) {
  struct sockaddr_un name = {.sun_family = AF_UNIX};
  int length = snprintf(name.sun_path + 1, sizeof name.sun_path - 1, "capball-%llx-%llx",
                        (unsigned long long)folder->device, (unsigned long long)folder->file);
  socklen_t size = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)length);
  for (int tries = 0; tries < LOCK_TRIES; tries++) {
    if (bind(fd, (const struct sockaddr *)&name, size) == 0) return true;
    if (errno != EADDRINUSE) return false;
    cpb_sys_sleep(0.001);
  }
  return false;
}
#endif

int cpb_sys_lock_names(const char *folder) {
#ifdef __linux__
  cpb_file_facts facts;
  int fd = cpb_sys_facts(folder, &facts) ? socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0) : -1;
  if (fd < 0 || take_name(fd, &facts)) return fd;
  close(fd);
#else
  (void)folder;
#endif
  return -1;
}

void cpb_sys_unlock_names(int handle) {
  if (handle >= 0) close(handle);
}

#endif
