/* An engine that is a command: write files, run the shell, read files, clean up. */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "capball/advanced/engine.h"
#include "capball/file.h"
#include "base/fail.h"
#include "base/rows.h"
#include "files/file_fail.h"
#include "files/input.h"
#include "base/tell.h"
#include "engine/engine_ask.h"

enum { PATH_ROOM = 512, LAST_BYTES = 4096 };

static const char DESK[] = "capball-engine-";

enum { BASE, QUERIES, IDS, TIMES, SAID, FILES };
static const char *const file_names[FILES] = {"base.npy", "queries.npy", "ids.npy", "times", "said"};

/* One question, and its working directory; `lock` is released when the process that holds it ends. */
typedef struct desk {
  const cpb_engine_command *of;
  const cpb_engine_question *q;
  const cpb_exec *exec;
  cpb_error *error; /* not NULL: set if one of the functions below returns false */
  double began;
  int lock;
  char folder[PATH_ROOM - 32], file[FILES][PATH_ROOM];
} desk;

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

/* Including everything that the engine has written there. */
static void clear_desk(const desk *at) {
  fchmod(at->lock, 0700);
  int folder = openat(at->lock, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (folder >= 0) empty_folder(folder);
  rmdir(at->folder);
  close(at->lock);
}

/* False if another process holds it, or it is not ours or not a directory. Where locks are not supported, a new
 * directory is used without one, and nothing is treated as abandoned. */
static bool lock_desk(desk *at, bool made) {
  struct stat opened, named;
  at->lock = open(at->folder, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  if (at->lock < 0) return false;
  bool locked = flock(at->lock, LOCK_EX | LOCK_NB) == 0 || (made && errno != EWOULDBLOCK);
  bool ours = locked && fstat(at->lock, &opened) == 0 && opened.st_uid == geteuid() &&
              lstat(at->folder, &named) == 0 && opened.st_ino == named.st_ino &&
              opened.st_dev == named.st_dev;
  if (!ours) close(at->lock);
  return ours;
}

/* Removes the directories of processes that died. */
static void clear_litter(const char *room) {
  DIR *all = opendir(room);
  for (const struct dirent *one; all != NULL && (one = readdir(all)) != NULL;) {
    desk at;
    if (strncmp(one->d_name, DESK, strlen(DESK)) != 0 || strlen(one->d_name) != strlen(DESK) + 6) continue;
    snprintf(at.folder, sizeof at.folder, "%s/%s%.6s", room, DESK, one->d_name + strlen(DESK));
    if (lock_desk(&at, false)) clear_desk(&at);
  }
  if (all != NULL) closedir(all);
}

/* Between creation and locking, another process may have removed it as abandoned. */
static bool open_desk(desk *at) {
  enum { TRIES = 8 };
  const char *room = getenv("TMPDIR");
  if (room == NULL || *room != '/' || strlen(room) > sizeof at->folder - 32) room = "/tmp";
  clear_litter(room);
  for (int i = 0; i < TRIES; i++) {
    snprintf(at->folder, sizeof at->folder, "%s/%sXXXXXX", room, DESK);
    if (mkdtemp(at->folder) == NULL) break;
    for (int k = 0; k < FILES; k++)
      snprintf(at->file[k], sizeof at->file[k], "%s/%s", at->folder, file_names[k]);
    if (lock_desk(at, true)) return true;
    rmdir(at->folder);
  }
  return cpb_file_fail_errno(at->error, room, "make a directory in it") == CPB_OK;
}

static bool write_rows(const desk *at, const char *path, cpb_view rows) {
  cpb_writer_options options;
  cpb_writer *writer = NULL;
  cpb_writer_options_init(&options, sizeof options);
  options.format = "npy";
  options.dtype = rows.dtype;
  options.cols = rows.cols;
  options.rows = rows.rows;
  bool done = cpb_writer_open(path, &options, &writer, at->error) == CPB_OK &&
              cpb_writer_append(writer, rows, at->error) == CPB_OK &&
              cpb_writer_commit(writer, at->error) == CPB_OK;
  cpb_writer_free(writer);
  return done;
}

/* ---- the command line ---- */

enum { WORDS = 7, NEEDED = 4 };

static const char *const words[WORDS] = {"{base}",   "{queries}", "{k}",    "{ids}",
                                         "{metric}", "{seed}",    "{times}"};

/* Values are quoted as one word of the shell. */
static void fill_in(FILE *to, const char *command, const char *const values[WORDS]) {
  while (*command != 0) {
    size_t at = 0;
    while (at < WORDS && strncmp(command, words[at], strlen(words[at])) != 0) at++;
    fputc(at < WORDS ? '\'' : *command, to);
    command += at < WORDS ? strlen(words[at]) : 1;
    if (at == WORDS) continue;
    for (const char *c = values[at]; *c != 0; c++) *c == '\'' ? fputs("'\\''", to) : fputc(*c, to);
    fputc('\'', to);
  }
}

static char *command_line(const desk *at) {
  char k[32], seed[32], *line = NULL;
  size_t length = 0;
  snprintf(k, sizeof k, "%zu", at->q->count);
  snprintf(seed, sizeof seed, "%llu", (unsigned long long)at->q->seed);
  const char *const values[WORDS] = {
      at->file[BASE], at->file[QUERIES], k, at->file[IDS], cpb_metric_name(at->q->metric),
      seed,           at->file[TIMES]};
  FILE *to = open_memstream(&line, &length);
  if (to == NULL) return NULL;
  fill_in(to, at->of->command, values);
  if (fclose(to) != 0) {
    free(line);
    return NULL;
  }
  return line;
}

/* ---- running it ---- */

/* In its own process group, so that its children can be ended with it. */
static pid_t start(const char *line, const char *said) {
  pid_t child = fork();
  if (child != 0) return child;
  setpgid(0, 0);
  int to = open(said, O_WRONLY | O_CREAT | O_TRUNC, 0600), from = open("/dev/null", O_RDONLY);
  if (to < 0 || from < 0) _exit(126);
  dup2(from, 0);
  dup2(to, 1);
  dup2(to, 2);
  signal(SIGINT, SIG_DFL);
  signal(SIGTERM, SIG_DFL);
  execl("/bin/sh", "sh", "-c", line, (char *)NULL);
  _exit(127);
}

static void put_end_to(pid_t child) {
  kill(-child, SIGKILL);
  kill(child, SIGKILL);
  while (waitpid(child, NULL, 0) < 0 && errno == EINTR) {
  }
}

static bool check_time(const desk *at) {
  if (cpb_exec_tell(at->exec, 0, at->error) != CPB_OK) return false;
  double taken = cpb_seconds_now() - at->began, most = at->of->timeout; /* 0: never */
  return most == 0 || taken <= most ||
         cpb_fail_domain(at->error, "timeout", taken, "the engine must end within %g seconds", most) ==
             CPB_OK;
}

static bool wait_for(const desk *at, pid_t child, int *ended) {
  for (struct timespec nap = {0, 2000000}; waitpid(child, ended, WNOHANG) != child;
       nap.tv_nsec = nap.tv_nsec < 50000000 ? 2 * nap.tv_nsec : 50000000) {
    if (!check_time(at)) {
      put_end_to(child);
      return false;
    }
    nanosleep(&nap, NULL);
  }
  return true;
}

/* NULL unless it is a regular file: opening a FIFO would block until it has a writer. */
static FILE *open_regular(const char *path) { return cpb_is_regular(path) ? fopen(path, "r") : NULL; }

static void last_words(const char *path, char *line, size_t room) {
  char now_read[256];
  FILE *from = open_regular(path);
  *line = 0;
  if (from != NULL) fseek(from, -LAST_BYTES, SEEK_END); /* a shorter file is read from its start */
  while (from != NULL && fgets(now_read, sizeof now_read, from) != NULL) {
    now_read[strcspn(now_read, "\n")] = 0;
    if (now_read[0] != 0) snprintf(line, room, "%.150s", now_read);
  }
  if (from != NULL) fclose(from);
  for (char *c = line; *c != 0; c++)
    if ((unsigned char)*c < 0x20 || *c == 0x7f) *c = ' ';
}

static bool judge_end(const desk *at, int ended) {
  char said[160];
  bool exited = WIFEXITED(ended);
  if (exited && WEXITSTATUS(ended) == 0) return true;
  last_words(at->file[SAID], said, sizeof said);
  return cpb_fail_count(at->error, "command", (uint64_t)(exited ? WEXITSTATUS(ended) : WTERMSIG(ended)),
                        "the engine failed%s%s: its %s must be 0", said[0] != 0 ? " and said \"" : "",
                        said[0] != 0 ? strcat(said, "\"") : "", exited ? "exit code" : "signal") == CPB_OK;
}

/* ---- its answer ---- */

static bool take_query(const desk *at, cpb_view answers, size_t row, size_t query, uint64_t *ids) {
  size_t found = 0, count = at->q->count;
  for (size_t i = 0; i < count; i++) ids[i] = CPB_NO_ROW;
  for (size_t i = 0; i < count; i++) {
    double id = cpb_view_at(answers, row, i);
    if (id == -1) continue;
    if (!cpb_engine_check_id(id, query, at->q->rows.rows, at->error)) return false;
    ids[found++] = (uint64_t)id;
  }
  return true;
}

static bool check_shape(const desk *at, cpb_reader *reader) {
  cpb_file_info info = cpb_reader_info(reader);
  size_t count = at->q->count, queries = at->q->queries.rows;
  if (info.cols < count)
    return cpb_fail_count(at->error, "ids", info.cols, "the engine must give %zu ids per query", count) ==
           CPB_OK;
  return info.rows == queries ||
         cpb_fail_count(at->error, "ids", info.rows, "the engine must answer %zu queries", queries) == CPB_OK;
}

static bool open_answers(const desk *at, cpb_reader **reader) {
  const char *wanted = !cpb_is_regular(at->file[IDS]) ? "one file of ids, {ids}: a regular file"
                       : cpb_reader_open(at->file[IDS], NULL, reader, NULL) != CPB_OK
                           ? "an npy file of whole numbers to {ids}: readable rows"
                           : NULL;
  return wanted == NULL || cpb_fail_count(at->error, "ids", 0, "the engine must write %s", wanted) == CPB_OK;
}

static bool read_answers(const desk *at, uint64_t *ids) {
  cpb_reader *reader = NULL;
  bool done = open_answers(at, &reader) && check_shape(at, reader);
  for (size_t query = 0; done && query < at->q->queries.rows;) {
    cpb_view block;
    done = cpb_reader_next(reader, 4096, &block, at->error) == CPB_OK;
    for (size_t i = 0; done && i < block.rows; i++, query++)
      done = take_query(at, block, i, query, ids + query * at->q->count);
    done = done && check_time(at);
  }
  cpb_reader_free(reader);
  return done;
}

static void read_times(const desk *at, cpb_engine_cost *cost) {
  FILE *from = open_regular(at->file[TIMES]);
  cost->build = cost->query = NAN;
  cost->bytes = 0;
  if (from == NULL) return;
  if (fscanf(from, "%lf %lf %lf", &cost->build, &cost->query, &cost->bytes) < 2)
    cost->build = cost->query = NAN;
  fclose(from);
}

static bool run(desk *at, uint64_t *ids, cpb_engine_cost *cost) {
  int ended = 0;
  char *line = command_line(at);
  if (line == NULL) return cpb_fail_memory(at->error, "a command") == CPB_OK;
  at->began = cpb_seconds_now();
  pid_t child = start(line, at->file[SAID]);
  free(line);
  if (child < 0) return cpb_file_fail_errno(at->error, at->of->command, "start it") == CPB_OK;
  bool waited = wait_for(at, child, &ended);
  cost->seconds = cpb_seconds_now() - at->began;
  if (!waited || !judge_end(at, ended) || !read_answers(at, ids)) return false;
  read_times(at, cost);
  return true;
}

static cpb_status ask(void *self, const cpb_engine_question *q, uint64_t *ids, cpb_engine_cost *cost,
                      const cpb_exec *exec, cpb_error *error) {
  cpb_error unused;
  desk at = {.of = self, .q = q, .exec = exec, .error = error != NULL ? error : &unused};
  if (!open_desk(&at)) return at.error->status;
  bool done = write_rows(&at, at.file[BASE], q->rows) && write_rows(&at, at.file[QUERIES], q->queries) &&
              run(&at, ids, cost);
  clear_desk(&at);
  return done ? CPB_OK : at.error->status;
}

cpb_status cpb_engine_from_command(const cpb_engine_command *command, cpb_engine_calls *engine,
                                   cpb_error *error) {
  if (command == NULL || command->command == NULL || engine == NULL)
    return cpb_fail_missing(error, engine == NULL ? "engine" : "command");
  for (size_t i = 0; i < NEEDED; i++)
    if (strstr(command->command, words[i]) == NULL)
      return cpb_fail_count(error, "command", 0, "the engine's command must contain %s at least once",
                            words[i]);
  if (!(command->timeout >= 0 && command->timeout < INFINITY))
    return cpb_fail_domain(error, "timeout", command->timeout, "timeout must be a number of seconds >= 0");
  *engine = (cpb_engine_calls){(void *)(uintptr_t)command, ask};
  return CPB_OK;
}
