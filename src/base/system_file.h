/* Files, folders of names, mappings and locks of the operating system. Paths are UTF-8 on Windows, bytes elsewhere. What a
 * function promises after a crash or a power failure, on each system, is in docs/reference/platforms.md.
 *
 * Functions that return bool or a descriptor set errno when they fail. */
#ifndef CPB_BASE_SYSTEM_FILE_H
#define CPB_BASE_SYSTEM_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* ---- what a name or a descriptor refers to ---- */

typedef enum cpb_file_kind { CPB_FILE_REGULAR, CPB_FILE_FOLDER, CPB_FILE_OTHER } cpb_file_kind;

typedef struct cpb_file_facts {
  cpb_file_kind kind;
  unsigned mode;         /* permissions */
  uint64_t device, file; /* the same for two names of one file */
  uint64_t size;
  int64_t seconds, nanoseconds; /* of the last change of its bytes */
} cpb_file_facts;

bool cpb_sys_facts(const char *path, cpb_file_facts *facts);
bool cpb_sys_facts_of(int fd, cpb_file_facts *facts);
bool cpb_sys_same_file(const cpb_file_facts *a, const cpb_file_facts *b);

/* Whether there is such a name; a symbolic link is one, wherever it leads. */
bool cpb_sys_is_there(const char *path);
/* Whether the name, which is not a symbolic link, still refers to the open file. */
bool cpb_sys_is_named(int fd, const char *path);
bool cpb_sys_may_write(const char *path);

/* Bytes of the directory part of a path with its separator; 0 if there is none. */
size_t cpb_sys_folder_length(const char *path);
bool cpb_sys_is_absolute(const char *path);
/* The end of the chain of symbolic links, also if it does not exist yet; the caller frees it. NULL: ELOOP, ENOMEM. */
char *cpb_sys_follow_links(const char *path);
/* Absolute, without symbolic links; the caller frees it. NULL if there is no such file. */
char *cpb_sys_resolve(const char *path);

/* ---- opening; descriptors are not inherited by programs ---- */

/* Standard input, output and error output. */
enum { CPB_STDIN, CPB_STDOUT, CPB_STDERR };

typedef enum cpb_open_how {
  CPB_OPEN_READ = 0,
  CPB_OPEN_CHANGE = 1,   /* reading and writing */
  CPB_OPEN_WRITE = 2,    /* a stream, to write only */
  CPB_OPEN_NEW = 4,      /* with CHANGE: creates the file; EEXIST if the name is taken */
  CPB_OPEN_AT_ONCE = 8,  /* does not wait for a pipe's other end */
  CPB_OPEN_NO_LINK = 16, /* a symbolic link is an error */
} cpb_open_how;

int cpb_sys_open(const char *path, unsigned how, unsigned mode);
/* An unnamed file in a directory that cpb_sys_link can give a name, locked; < 0 if that is not possible here. */
int cpb_sys_open_unnamed(const char *folder, unsigned mode);
int cpb_sys_duplicate(int fd);
void cpb_sys_close(int fd);
bool cpb_sys_set_mode(int fd, unsigned mode);
FILE *cpb_sys_fopen(const char *path, const char *mode);
/* A temporary file for reading and writing that leaves nothing behind, however the process ends. */
FILE *cpb_sys_scratch_file(void);

/* A FILE to write, whose bytes are passed to `append`, which returns how many it took; close it with the same arguments. False if
 * bytes were lost. */
typedef size_t cpb_append(void *to, const char *bytes, size_t count);
FILE *cpb_sys_stream_open(cpb_append *append, void *to);
bool cpb_sys_stream_close(FILE *stream, cpb_append *append, void *to);

/* ---- bytes; interrupted calls are repeated ---- */

/* As many as one call reads, < 0 on failure. */
int64_t cpb_sys_read(int fd, void *bytes, size_t count);
int64_t cpb_sys_read_at(int fd, uint64_t offset, void *bytes, size_t count);
/* As many as one call writes. */
int64_t cpb_sys_write(int fd, const void *bytes, size_t count);
int64_t cpb_sys_write_at(int fd, uint64_t offset, const void *bytes, size_t count);
bool cpb_sys_resize(int fd, uint64_t size);
int64_t cpb_sys_position(int fd);
bool cpb_sys_rewind(int fd);
/* To disk, as far as the disk tells the truth; data: without facts that reading does not need. */
bool cpb_sys_sync(int fd);
bool cpb_sys_sync_data(int fd);
/* The names in a folder; true where the system has no such call, or does not let this process open the folder. */
bool cpb_sys_sync_folder(const char *folder);

/* ---- names ---- */

/* Replaces `to` in one step. */
bool cpb_sys_rename(const char *from, const char *to);
/* Gives the open file, whose only name is `from`, NULL if it has none, a new name in one step, which must not exist: EEXIST. `from`
 * is gone afterwards. */
bool cpb_sys_link(int fd, const char *from, const char *name);
bool cpb_sys_remove(const char *path);

/* ---- mappings, to read ---- */

/* The alignment of offsets. */
size_t cpb_sys_map_unit(void);
/* soon: reads the bytes now. NULL on failure. */
void *cpb_sys_map(int fd, uint64_t offset, size_t count, bool soon);
void cpb_sys_unmap(void *memory, size_t count);
/* Single rows will be read from anywhere: reading ahead would load their neighbours too. */
void cpb_sys_expect_anywhere(void *memory, size_t count);

/* ---- locks, released when their process ends; other programs read and write on ---- */

/* EWOULDBLOCK if another descriptor holds one that excludes it; another errno where the file system has no locks. */
bool cpb_sys_lock(int fd, bool shared);
void cpb_sys_unlock(int fd);
/* After EWOULDBLOCK: ", by process 123 (python)", as far as the system tells who holds it, or "". The text that was given. */
const char *cpb_sys_lock_holder(int fd, char *text, size_t room);
/* A second lock of the same file; false only if it is held. */
bool cpb_sys_lock_writing(int fd);
/* Waits up to half a minute for a lock on the names in a folder. A handle for cpb_sys_unlock_names; < 0 if it was not given, or the
 * system has none. */
int cpb_sys_lock_names(const char *folder);
void cpb_sys_unlock_names(int handle);

#endif
