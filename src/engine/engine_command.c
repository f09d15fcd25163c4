/* An engine that is a command: write files, run the shell, read files, clean up. */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "capball/advanced/engine.h"
#include "capball/file.h"
#include "base/fail.h"
#include "base/rows.h"
#include "files/file_fail.h"
#include "files/input.h"
#include "base/tell.h"
#include "base/system.h"
#include "base/system_file.h"
#include "base/system_process.h"
#include "engine/engine_ask.h"

enum { PATH_ROOM = 512, LAST_BYTES = 4096 };

static const char DESK[] = "capball-engine-";

enum { BASE, QUERIES, IDS, TIMES, SAID, FILES };
static const char *const file_names[FILES] = {"base.npy", "queries.npy", "ids.npy", "times", "said"};

/* One question, and its working directory. */
typedef struct desk {
  const cpb_engine_command *of;
  const cpb_engine_question *q;
  const cpb_exec *exec;
  cpb_error *error; /* not NULL: set if one of the functions below returns false */
  double began;
  cpb_work_folder folder;
  char file[FILES][PATH_ROOM];
} desk;

static bool open_desk(desk *at) {
  const char *room;
  if (!cpb_work_folder_open(&at->folder, DESK, &room))
    return cpb_file_fail_errno(at->error, room, "make a directory in it") == CPB_OK;
  for (int k = 0; k < FILES; k++)
    snprintf(at->file[k], sizeof at->file[k], "%s/%s", at->folder.path, file_names[k]);
  return true;
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

typedef struct command_text {
  cpb_buffer buffer;
  size_t length;
} command_text;

/* Values are quoted as one word of the shell. */
static void fill_in(FILE *to, const char *command, const char *const values[WORDS]) {
  while (*command != 0) {
    size_t at = 0;
    while (at < WORDS && strncmp(command, words[at], strlen(words[at])) != 0) at++;
    if (at == WORDS)
      fputc(*command++, to);
    else
      cpb_sys_quote(to, values[at]);
    if (at < WORDS) command += strlen(words[at]);
  }
}

static size_t append(void *to, const char *bytes, size_t count) {
  command_text *text = to;
  if (!cpb_buffer_grow(&text->buffer, text->length + count + 1, text->length, NULL)) return 0;
  memcpy(text->buffer.bytes + text->length, bytes, count);
  text->length += count;
  text->buffer.bytes[text->length] = 0;
  return count;
}

static char *command_line(const desk *at) {
  command_text text = {.length = 0};
  char k[32], seed[32];
  snprintf(k, sizeof k, "%zu", at->q->count);
  snprintf(seed, sizeof seed, "%llu", (unsigned long long)at->q->seed);
  const char *const values[WORDS] = {
      at->file[BASE], at->file[QUERIES], k, at->file[IDS], cpb_metric_name(at->q->metric),
      seed,           at->file[TIMES]};
  FILE *to = cpb_sys_stream_open(append, &text);
  if (to == NULL) return NULL;
  fill_in(to, at->of->command, values);
  if (cpb_sys_stream_close(to, append, &text)) return (char *)text.buffer.bytes;
  cpb_buffer_free(&text.buffer);
  return NULL;
}

/* ---- running it ---- */

static bool check_time(const desk *at) {
  if (cpb_exec_tell(at->exec, 0, at->error) != CPB_OK) return false;
  double taken = cpb_seconds_now() - at->began, most = at->of->timeout; /* 0: never */
  return most == 0 || taken <= most ||
         cpb_fail_domain(at->error, "timeout", taken, "the engine must end within %g seconds", most) ==
             CPB_OK;
}

static bool wait_for(const desk *at, cpb_process *child, int *code, bool *by_signal) {
  for (double nap = 0.002; !cpb_process_ended(child, code, by_signal); nap = nap < 0.05 ? 2 * nap : 0.05) {
    if (!check_time(at)) {
      cpb_process_kill(child);
      return false;
    }
    cpb_sys_sleep(nap);
  }
  return true;
}

/* NULL unless it is a regular file: opening a FIFO would block until it has a writer. */
static FILE *open_regular(const char *path) { return cpb_is_regular(path) ? cpb_sys_fopen(path, "r") : NULL; }

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

static bool judge_end(const desk *at, int code, bool by_signal) {
  char said[160];
  if (!by_signal && code == 0) return true;
  last_words(at->file[SAID], said, sizeof said);
  return cpb_fail_count(at->error, "command", (uint64_t)code, "the engine failed%s%s: its %s must be 0",
                        said[0] != 0 ? " and said \"" : "", said[0] != 0 ? strcat(said, "\"") : "",
                        by_signal ? "signal" : "exit code") == CPB_OK;
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
  int code = 0;
  bool by_signal = false;
  cpb_process child;
  char *line = command_line(at);
  if (line == NULL) return cpb_fail_memory(at->error, "a command") == CPB_OK;
  at->began = cpb_seconds_now();
  bool started = cpb_process_start(&child, line, at->file[SAID]);
  free(line);
  if (!started) return cpb_file_fail_errno(at->error, at->of->command, "start it") == CPB_OK;
  bool waited = wait_for(at, &child, &code, &by_signal);
  cost->seconds = cpb_seconds_now() - at->began;
  if (!waited || !judge_end(at, code, by_signal) || !read_answers(at, ids)) return false;
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
  cpb_work_folder_close(&at.folder);
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
