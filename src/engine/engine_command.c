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
#include "core/fail.h"
#include "core/rows.h"
#include "io/file_fail.h"
#include "parallel/tell.h"

enum { PATH_ROOM = 512, LAST_BYTES = 4096 };

static const char DESK[] = "capball-engine-";

/* The working directory of one question; `lock` is released when the process that holds it ends. */
typedef struct desk {
  int lock;
  char folder[PATH_ROOM - 32];
  char base[PATH_ROOM], queries[PATH_ROOM], ids[PATH_ROOM], times[PATH_ROOM], said[PATH_ROOM];
} desk;

static void name_files(desk *at) {
  snprintf(at->base, sizeof at->base, "%s/base.npy", at->folder);
  snprintf(at->queries, sizeof at->queries, "%s/queries.npy", at->folder);
  snprintf(at->ids, sizeof at->ids, "%s/ids.npy", at->folder);
  snprintf(at->times, sizeof at->times, "%s/times", at->folder);
  snprintf(at->said, sizeof at->said, "%s/said", at->folder);
}

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
static cpb_status open_desk(desk *at, cpb_error *error) {
  enum { TRIES = 8 };
  const char *room = getenv("TMPDIR");
  if (room == NULL || *room != '/' || strlen(room) > sizeof at->folder - 32) room = "/tmp";
  clear_litter(room);
  for (int i = 0; i < TRIES; i++) {
    snprintf(at->folder, sizeof at->folder, "%s/%sXXXXXX", room, DESK);
    if (mkdtemp(at->folder) == NULL) break;
    name_files(at);
    if (lock_desk(at, true)) return CPB_OK;
    rmdir(at->folder);
  }
  return cpb_file_fail_errno(error, room, "make a directory in it");
}

static cpb_status write_rows(const char *path, cpb_view rows, cpb_error *error) {
  cpb_writer_options options;
  cpb_writer *writer = NULL;
  cpb_writer_options_init(&options, sizeof options);
  options.format = "npy";
  options.dtype = rows.dtype;
  options.cols = rows.cols;
  options.rows = rows.rows;
  cpb_status status = cpb_writer_open(path, &options, &writer, error);
  if (status == CPB_OK) status = cpb_writer_append(writer, rows, error);
  if (status == CPB_OK) status = cpb_writer_commit(writer, error);
  cpb_writer_free(writer);
  return status;
}

/* ---- the command line ---- */

typedef struct word {
  const char *name, *value;
} word;

enum { WORDS = 7 };

static const char *const needed_words[] = {"{base}", "{queries}", "{k}", "{ids}"};

/* Quotes it as one word of the shell. */
static void put_word(FILE *to, const char *text) {
  fputc('\'', to);
  for (; *text != 0; text++) *text == '\'' ? fputs("'\\''", to) : fputc(*text, to);
  fputc('\'', to);
}

static void fill_in(FILE *to, const char *command, const word words[WORDS]) {
  while (*command != 0) {
    size_t at = 0;
    while (at < WORDS && strncmp(command, words[at].name, strlen(words[at].name)) != 0) at++;
    if (at < WORDS)
      put_word(to, words[at].value);
    else
      fputc(*command, to);
    command += at < WORDS ? strlen(words[at].name) : 1;
  }
}

static char *command_line(const char *command, const desk *at, const cpb_engine_question *q) {
  char k[32], seed[32], *line = NULL;
  size_t length = 0;
  snprintf(k, sizeof k, "%zu", q->count);
  snprintf(seed, sizeof seed, "%llu", (unsigned long long)q->seed);
  const word words[WORDS] = {{"{base}", at->base},
                             {"{queries}", at->queries},
                             {"{k}", k},
                             {"{ids}", at->ids},
                             {"{metric}", cpb_metric_name(q->metric)},
                             {"{seed}", seed},
                             {"{times}", at->times}};
  FILE *to = open_memstream(&line, &length);
  if (to == NULL) return NULL;
  fill_in(to, command, words);
  if (fclose(to) != 0) {
    free(line);
    return NULL;
  }
  return line;
}

/* ---- running it ---- */

static double now(void) {
  struct timespec at;
  clock_gettime(CLOCK_MONOTONIC, &at);
  return (double)at.tv_sec + 1e-9 * (double)at.tv_nsec;
}

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

/* One question: when it began, and its time limit. */
typedef struct time_limit {
  double begin, timeout; /* timeout 0: never */
} time_limit;

static cpb_status check_time(const time_limit *limit, const cpb_exec *exec, cpb_error *error) {
  cpb_status status = cpb_exec_tell(exec, 0, error);
  double taken = now() - limit->begin;
  if (status != CPB_OK || limit->timeout == 0 || taken <= limit->timeout) return status;
  return cpb_fail_domain(error, "timeout", taken, "the engine must end within %g seconds", limit->timeout);
}

static cpb_status wait_for(pid_t child, const time_limit *limit, int *ended, const cpb_exec *exec,
                           cpb_error *error) {
  for (struct timespec nap = {0, 2000000};;
       nap.tv_nsec = nap.tv_nsec < 50000000 ? 2 * nap.tv_nsec : 50000000) {
    pid_t done = waitpid(child, ended, WNOHANG);
    if (done == child) return CPB_OK;
    cpb_status status = check_time(limit, exec, error);
    if (status != CPB_OK) {
      put_end_to(child);
      return status;
    }
    nanosleep(&nap, NULL);
  }
}

static bool is_regular(const char *path) {
  struct stat status;
  return stat(path, &status) == 0 && S_ISREG(status.st_mode);
}

/* NULL unless it is a regular file: opening a FIFO would block until it has a writer. */
static FILE *open_regular(const char *path) { return is_regular(path) ? fopen(path, "r") : NULL; }

/* The last line of the command's output. */
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

static cpb_status judge_end(int ended, const desk *at, cpb_error *error) {
  char said[160];
  if (WIFEXITED(ended) && WEXITSTATUS(ended) == 0) return CPB_OK;
  last_words(at->said, said, sizeof said);
  const char *what = WIFEXITED(ended) ? "exit code" : "signal";
  return cpb_fail_count(error, "command", (uint64_t)(WIFEXITED(ended) ? WEXITSTATUS(ended) : WTERMSIG(ended)),
                        "the engine failed%s%s: its %s must be 0", said[0] != 0 ? " and said \"" : "",
                        said[0] != 0 ? strcat(said, "\"") : "", what);
}

/* ---- its answer ---- */

static cpb_status check_id(const cpb_engine_question *q, size_t query, double id, const uint64_t *before,
                           size_t found, cpb_error *error) {
  if (!(id >= 0 && id < (double)q->rows.rows && id == floor(id)))
    return cpb_fail_domain(error, "ids", id,
                           "the engine's answer to query %zu must be rows 0 .. %zu, or -1 after the last",
                           query, q->rows.rows - 1);
  for (size_t i = 0; i < found; i++)
    if (before[i] == (uint64_t)id)
      return cpb_fail_domain(error, "ids", id, "the engine must name a row once for query %zu", query);
  return CPB_OK;
}

static cpb_status take_query(const cpb_engine_question *q, cpb_view answers, size_t row, size_t query,
                             uint64_t *ids, cpb_error *error) {
  cpb_status status = CPB_OK;
  size_t found = 0;
  for (size_t i = 0; i < q->count; i++) ids[i] = CPB_NO_ROW;
  for (size_t i = 0; i < q->count && status == CPB_OK; i++) {
    double id = cpb_view_at(answers, row, i);
    if (id == -1) continue;
    status = check_id(q, query, id, ids, found, error);
    if (status == CPB_OK) ids[found++] = (uint64_t)id;
  }
  return status;
}

static cpb_status check_shape(const cpb_engine_question *q, cpb_reader *reader, cpb_error *error) {
  cpb_file_info info = cpb_reader_info(reader);
  if (info.cols < q->count)
    return cpb_fail_count(error, "ids", info.cols, "the engine must give %zu ids per query", q->count);
  if (info.rows != q->queries.rows)
    return cpb_fail_count(error, "ids", info.rows, "the engine must answer %zu queries", q->queries.rows);
  return CPB_OK;
}

static cpb_status read_answers(const cpb_engine_question *q, const desk *at, const time_limit *limit,
                               uint64_t *ids, const cpb_exec *exec, cpb_error *error) {
  cpb_reader *reader = NULL;
  if (!is_regular(at->ids))
    return cpb_fail_count(error, "ids", 0, "the engine must write one file of ids, {ids}: a regular file");
  cpb_error why;
  cpb_status status = cpb_reader_open(at->ids, NULL, &reader, &why);
  if (status != CPB_OK)
    return cpb_fail_count(error, "ids", 0,
                          "the engine must write an npy file of whole numbers to {ids}: readable rows");
  if (status == CPB_OK) status = check_shape(q, reader, error);
  for (size_t query = 0; status == CPB_OK && query < q->queries.rows;) {
    cpb_view block;
    status = cpb_reader_next(reader, 4096, &block, error);
    for (size_t i = 0; status == CPB_OK && i < block.rows; i++, query++)
      status = take_query(q, block, i, query, ids + query * q->count, error);
    if (status == CPB_OK) status = check_time(limit, exec, error);
  }
  cpb_reader_free(reader);
  return status;
}

static void read_times(const desk *at, cpb_engine_cost *cost) {
  FILE *from = open_regular(at->times);
  cost->build = cost->query = NAN;
  cost->bytes = 0;
  if (from == NULL) return;
  if (fscanf(from, "%lf %lf %lf", &cost->build, &cost->query, &cost->bytes) < 2)
    cost->build = cost->query = NAN;
  fclose(from);
}

static cpb_status run(const cpb_engine_command *of, const desk *at, const cpb_engine_question *q,
                      uint64_t *ids, cpb_engine_cost *cost, const cpb_exec *exec, cpb_error *error) {
  int ended = 0;
  char *line = command_line(of->command, at, q);
  if (line == NULL) return cpb_fail_memory(error, "a command");
  const time_limit limit = {now(), of->timeout};
  pid_t child = start(line, at->said);
  free(line);
  if (child < 0) return cpb_file_fail_errno(error, of->command, "start it");
  cpb_status status = wait_for(child, &limit, &ended, exec, error);
  cost->seconds = now() - limit.begin;
  if (status == CPB_OK) status = judge_end(ended, at, error);
  if (status == CPB_OK) status = read_answers(q, at, &limit, ids, exec, error);
  if (status == CPB_OK) read_times(at, cost);
  return status;
}

static cpb_status ask(void *self, const cpb_engine_question *q, uint64_t *ids, cpb_engine_cost *cost,
                      const cpb_exec *exec, cpb_error *error) {
  desk at;
  cpb_status status = open_desk(&at, error);
  if (status != CPB_OK) return status;
  status = write_rows(at.base, q->rows, error);
  if (status == CPB_OK) status = write_rows(at.queries, q->queries, error);
  if (status == CPB_OK) status = run(self, &at, q, ids, cost, exec, error);
  clear_desk(&at);
  return status;
}

cpb_status cpb_engine_from_command(const cpb_engine_command *command, cpb_engine_calls *engine,
                                   cpb_error *error) {
  if (command == NULL || command->command == NULL || engine == NULL)
    return cpb_fail_missing(error, engine == NULL ? "engine" : "command");
  for (size_t i = 0; i < sizeof needed_words / sizeof *needed_words; i++)
    if (strstr(command->command, needed_words[i]) == NULL)
      return cpb_fail_count(error, "command", 0, "the engine's command must contain %s at least once",
                            needed_words[i]);
  if (!(command->timeout >= 0 && command->timeout < INFINITY))
    return cpb_fail_domain(error, "timeout", command->timeout, "timeout must be a number of seconds >= 0");
  *engine = (cpb_engine_calls){(void *)(uintptr_t)command, ask};
  return CPB_OK;
}
