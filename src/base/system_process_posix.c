#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "base/system_process.h"

#if !defined(_WIN32) && !defined(__wasi__)
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#ifdef __APPLE__
#include <crt_externs.h>
#include <mach-o/dyld.h>
#define environ (*_NSGetEnviron())
#else
extern char **environ;
#endif

enum { PATH_ROOM = 4096 };

/* ---- this process ---- */

void cpb_sys_begin(int *argc, char ***argv) { (void)argc, (void)argv; }

char *cpb_sys_own_path(void) {
  char path[PATH_ROOM];
#ifdef __APPLE__
  uint32_t room = sizeof path;
  return _NSGetExecutablePath(path, &room) == 0 ? realpath(path, NULL) : NULL;
#else
  ssize_t length = readlink("/proc/self/exe", path, sizeof path - 1);
  if (length <= 0) return NULL;
  path[length] = 0;
  return strdup(path);
#endif
}

bool cpb_sys_is_terminal(FILE *file) { return isatty(fileno(file)) != 0; }

int64_t cpb_sys_read_line(char **line, size_t *room, FILE *from) { return getline(line, room, from); }

static void (*told)(int signal);

/* A read blocked on standard input then finds its end, so that the caller sees what it was told. */
static void on_end(int number) {
  int kept = errno, nothing = open("/dev/null", O_RDONLY);
  told(number);
  if (nothing >= 0) {
    dup2(nothing, STDIN_FILENO);
    close(nothing);
  }
  errno = kept;
}

void cpb_sys_catch_ends(void (*caught)(int signal)) {
  told = caught;
  struct sigaction action = {.sa_handler = on_end, .sa_flags = (int)SA_RESETHAND};
  sigaction(SIGINT, &action, NULL);
  sigaction(SIGTERM, &action, NULL);
  sigaction(SIGHUP, &action, NULL);
  action.sa_flags = 0;
  action.sa_handler = SIG_IGN;
  sigaction(SIGXFSZ, &action, NULL);
}

static const char *lost_sentence;
static int lost_code;

static void on_lost_pages(int number) {
  (void)number;
  ssize_t written = write(STDERR_FILENO, lost_sentence, strlen(lost_sentence));
  (void)written;
  _exit(lost_code);
}

void cpb_sys_catch_lost_pages(const char *sentence, int code) {
  lost_sentence = sentence;
  lost_code = code;
  struct sigaction action = {.sa_handler = on_lost_pages};
  sigaction(SIGBUS, &action, NULL);
}

/* ---- programs ---- */

int cpb_sys_run(const char *const arguments[], FILE *in, FILE *out, FILE *errors) {
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, fileno(in), STDIN_FILENO);
  posix_spawn_file_actions_adddup2(&actions, fileno(out), STDOUT_FILENO);
  posix_spawn_file_actions_adddup2(&actions, fileno(errors), STDERR_FILENO);
  pid_t child;
  int status = 0;
  bool started =
      posix_spawnp(&child, arguments[0], &actions, NULL, (char **)(uintptr_t)arguments, environ) == 0;
  posix_spawn_file_actions_destroy(&actions);
  if (!started || waitpid(child, &status, 0) != child) return 127;
  return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}

void cpb_sys_quote(FILE *to, const char *value) {
  fputc('\'', to);
  for (const char *c = value; *c != 0; c++) *c == '\'' ? fputs("'\\''", to) : fputc(*c, to);
  fputc('\'', to);
}

/* In its own process group, so that its children can be ended with it. */
bool cpb_process_start(cpb_process *process, const char *line, const char *output) {
  pid_t child = fork();
  *process = (cpb_process){.number = child};
  if (child != 0) return child > 0;
  setpgid(0, 0);
  int to = open(output, O_WRONLY | O_CREAT | O_TRUNC, 0600), from = open("/dev/null", O_RDONLY);
  if (to < 0 || from < 0) _exit(126);
  dup2(from, 0);
  dup2(to, 1);
  dup2(to, 2);
  signal(SIGINT, SIG_DFL);
  signal(SIGTERM, SIG_DFL);
  execl("/bin/sh", "sh", "-c", line, (char *)NULL);
  _exit(127);
}

bool cpb_process_ended(cpb_process *process, int *code, bool *by_signal) {
  int status = 0;
  if (waitpid((pid_t)process->number, &status, WNOHANG) != (pid_t)process->number) return false;
  *by_signal = !WIFEXITED(status);
  *code = *by_signal ? WTERMSIG(status) : WEXITSTATUS(status);
  return true;
}

void cpb_process_kill(cpb_process *process) {
  pid_t child = (pid_t)process->number;
  kill(-child, SIGKILL);
  kill(child, SIGKILL);
  while (waitpid(child, NULL, 0) < 0 && errno == EINTR) {
  }
}

/* ---- a folder for a program's files ---- */

static void empty_folder(int folder);

/* Removes a file of any kind, a link, or a directory with its contents. */
static void remove_entry(int folder, const char *name) {
  const int how = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;
  if (unlinkat(folder, name, 0) == 0) return;
  int inner = openat(folder, name, how);
  if (inner < 0 && errno == EACCES && fchmodat(folder, name, 0700, 0) == 0) inner = openat(folder, name, how);
  if (inner >= 0) empty_folder(inner);
  unlinkat(folder, name, AT_REMOVEDIR);
}

/* Also closes it. */
static void empty_folder(int folder) {
  DIR *all = fdopendir(folder);
  for (const struct dirent *one; all != NULL && (one = readdir(all)) != NULL;)
    if (strcmp(one->d_name, ".") != 0 && strcmp(one->d_name, "..") != 0) remove_entry(folder, one->d_name);
  if (all != NULL)
    closedir(all);
  else
    close(folder);
}

void cpb_work_folder_close(cpb_work_folder *folder) {
  int lock = (int)folder->lock;
  fchmod(lock, 0700);
  int inner = openat(lock, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (inner >= 0) empty_folder(inner);
  rmdir(folder->path);
  close(lock);
}

/* False if another process holds it, or it is not ours or not a directory. Where locks are not supported, a new
 * directory is used without one, and nothing is treated as abandoned. */
static bool lock_folder(cpb_work_folder *folder, bool made) {
  struct stat opened, named;
  int lock = open(folder->path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  folder->lock = lock;
  if (lock < 0) return false;
  bool locked = flock(lock, LOCK_EX | LOCK_NB) == 0 || (made && errno != EWOULDBLOCK);
  bool ours = locked && fstat(lock, &opened) == 0 && opened.st_uid == geteuid() &&
              lstat(folder->path, &named) == 0 && opened.st_ino == named.st_ino &&
              opened.st_dev == named.st_dev;
  if (!ours) close(lock);
  return ours;
}

/* Removes the directories of processes that died. */
static void clear_litter(const char *room, const char *begins) {
  DIR *all = opendir(room);
  for (const struct dirent *one; all != NULL && (one = readdir(all)) != NULL;) {
    cpb_work_folder at;
    if (strncmp(one->d_name, begins, strlen(begins)) != 0 || strlen(one->d_name) != strlen(begins) + 6)
      continue;
    snprintf(at.path, sizeof at.path, "%s/%s%.6s", room, begins, one->d_name + strlen(begins));
    if (lock_folder(&at, false)) cpb_work_folder_close(&at);
  }
  if (all != NULL) closedir(all);
}

/* Between creation and locking, another process may have removed it as abandoned. */
bool cpb_work_folder_open(cpb_work_folder *folder, const char *begins, const char **where) {
  enum { TRIES = 8 };
  const char *room = getenv("TMPDIR");
  if (room == NULL || *room != '/' || strlen(room) + strlen(begins) + 8 > sizeof folder->path) room = "/tmp";
  *where = room;
  clear_litter(room, begins);
  for (int i = 0; i < TRIES; i++) {
    snprintf(folder->path, sizeof folder->path, "%s/%sXXXXXX", room, begins);
    if (mkdtemp(folder->path) == NULL) break;
    if (lock_folder(folder, true)) return true;
    rmdir(folder->path);
  }
  return false;
}

#endif
