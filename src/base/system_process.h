/* This process, programs that it runs, folders that they work in, the terminal and signals. */
#ifndef CPB_BASE_SYSTEM_PROCESS_H
#define CPB_BASE_SYSTEM_PROCESS_H

#include <getopt.h> /* for the command; here, since only this layer knows where a system has it */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* ---- this process ---- */

/* First of all in main(): arguments and what is printed are UTF-8 and bytes, as they are on POSIX. */
void cpb_sys_begin(int *argc, char ***argv);
/* The file that this process runs; the caller frees it. NULL if the system does not say. */
char *cpb_sys_own_path(void);
bool cpb_sys_is_terminal(FILE *file);
/* The next line with its end, as getline(); < 0 at the end and on failure. */
int64_t cpb_sys_read_line(char **line, size_t *room, FILE *from);

/* The first signal to end (interrupt, terminate, hang up) calls `caught` and ends a read from standard input that waits; the second
 * one ends the process. A limit of file sizes becomes an error of a write. */
void cpb_sys_catch_ends(void (*caught)(int signal));
/* Mapped pages that a file has lost end the process with this sentence and code. */
void cpb_sys_catch_lost_pages(const char *sentence, int code);

/* ---- programs ---- */

/* Runs a program found by PATH, and waits. Its exit code; 127 if it cannot be started, 1 after a signal. */
int cpb_sys_run(const char *const arguments[], FILE *in, FILE *out, FILE *errors);

typedef struct cpb_process {
  int64_t number;
  void *handle;
} cpb_process;

/* Writes a value as one word of the shell that runs commands. */
void cpb_sys_quote(FILE *to, const char *value);
/* Runs a line of the shell, in its own process group, with empty input and its output in a file. */
bool cpb_process_start(cpb_process *process, const char *line, const char *output);
/* Whether it has ended: *code is its exit code, or with *by_signal the signal's number. */
bool cpb_process_ended(cpb_process *process, int *code, bool *by_signal);
/* Ends it, with all that it started. */
void cpb_process_kill(cpb_process *process);

/* ---- a folder for a program's files ---- */

enum { CPB_FOLDER_ROOM = 480 };

/* `lock` is released when the process that holds it ends. */
typedef struct cpb_work_folder {
  int64_t lock;
  char path[CPB_FOLDER_ROOM];
} cpb_work_folder;

/* An empty folder named after `name`, of six letters or more, where temporary files are; removes those of processes that died.
 * *room: where that is, for messages. */
bool cpb_work_folder_open(cpb_work_folder *folder, const char *name, const char **room);
/* Removes it with everything in it. */
void cpb_work_folder_close(cpb_work_folder *folder);

#endif
