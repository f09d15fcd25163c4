#include "pg_exchange.h"

#include <access/xact.h>
#include <catalog/pg_tablespace_d.h>
#include <fcntl.h>
#include <fmgr.h>
#include <miscadmin.h>
#include <storage/fileset.h>
#include <storage/proc.h>
#include <sys/mman.h>
#include <utils/wait_event.h>

#include "pg_error.h"

#ifndef MAP_POPULATE
#define MAP_POPULATE 0
#endif

enum { FILE_LEAST = 1 << 20, FILE_SET = 0x63617062 };

/* A value: this, and without a file the state itself. */
typedef struct letter {
  uint64 size;    /* of the state */
  char name[32];  /* of the file; "": none */
  FileSet folder; /* in which the file is */
} letter;

void _PG_init(void);

/* Files of a leader and its workers are in one folder, named after the leader. A restarted server removes it like all temporary
 * files. */
static FileSet folder_of(pid_t leader) {
  FileSet folder = {.creator_pid = leader, .number = FILE_SET, .ntablespaces = 1};
  folder.tablespaces[0] = DEFAULTTABLESPACE_OID;
  return folder;
}

static pid_t leader_of_this(void) {
  return MyProc->lockGroupLeader == NULL ? MyProcPid : MyProc->lockGroupLeader->pid;
}

/* After an error or a cancel there may be files that nobody has read. */
static void remove_files(XactEvent event, void *context) {
  FileSet folder = folder_of(MyProcPid);
  if (event == XACT_EVENT_COMMIT || event == XACT_EVENT_ABORT || event == XACT_EVENT_PREPARE)
    FileSetDeleteAll(&folder);
}

void _PG_init(void) { RegisterXactCallback(remove_files, NULL); }

static void fail_file(const char *what) {
  ereport(ERROR, (errcode_for_file_access(), errmsg("%s the rows of a parallel worker: %m", what)));
}

static void write_part(File file, sql_part part, off_t *at) {
  enum { MOST = 1 << 24 };
  for (size_t done = 0; done < part.size;) {
    size_t size = part.size - done < MOST ? part.size - done : MOST;
    CHECK_FOR_INTERRUPTS();
    errno = 0;
    int written = FileWrite(file, (char *)(uintptr_t)part.bytes + done, size, *at, WAIT_EVENT_BUFFILE_WRITE);
    if (written <= 0) {
      if (errno == 0) errno = ENOSPC;
      fail_file("cannot write");
    }
    done += (size_t)written;
    *at += written;
  }
}

static void write_file(letter *to, const sql_part parts[SQL_PARTS]) {
  static uint32 count = 0;
  off_t at = 0;
  to->folder = folder_of(leader_of_this());
  snprintf(to->name, sizeof to->name, "rows.%d.%u", MyProcPid, count++);
  File file = FileSetCreate(&to->folder, to->name);
  for (int i = 0; i < SQL_PARTS; i++) write_part(file, parts[i], &at);
  FileClose(file);
}

static void *map_file(letter *from) {
  File file = FileSetOpen(&from->folder, from->name, O_RDONLY);
  if (file <= 0) fail_file("cannot open");
  void *bytes = mmap(NULL, from->size, PROT_READ, MAP_PRIVATE | MAP_POPULATE, FileGetRawDesc(file), 0);
  if (bytes == MAP_FAILED) fail_file("cannot map");
  FileClose(file);
  FileSetDelete(&from->folder, from->name, false);
  return bytes;
}

static void unmap(void *bytes, size_t size) { munmap(bytes, size); }

bytea *pg_exchange_send(sql_rows *rows) {
  sql_part parts[SQL_PARTS];
  letter to = {0};
  cpb_error error;
  if (sql_rows_parts(rows, parts, &error) != CPB_OK) pg_report(&error);
  for (int i = 0; i < SQL_PARTS; i++) to.size += parts[i].size;
  bool apart = to.size >= FILE_LEAST;
  if (apart) write_file(&to, parts);
  Size size = VARHDRSZ + sizeof to + (apart ? 0 : to.size);
  bytea *sent = palloc(size);
  SET_VARSIZE(sent, size);
  char *at = VARDATA(sent);
  memcpy(at, &to, sizeof to);
  at += sizeof to;
  for (int i = 0; !apart && i < SQL_PARTS; at += parts[i++].size)
    if (parts[i].size > 0) memcpy(at, parts[i].bytes, parts[i].size);
  return sent;
}

sql_rows *pg_exchange_receive(bytea *sent) {
  letter from;
  sql_rows *rows;
  cpb_error error;
  memcpy(&from, VARDATA_ANY(sent), sizeof from);
  bool apart = from.name[0] != 0;
  void *bytes = apart ? map_file(&from) : VARDATA_ANY(sent) + sizeof from;
  if (sql_rows_read(bytes, from.size, apart ? unmap : NULL, &rows, &error) == CPB_OK) return rows;
  if (apart) unmap(bytes, from.size);
  pg_report(&error);
}
