/* Writes the snapshot of an index file, block by block. */
#ifndef CPB_SEARCH_INDEX_SNAPSHOT_WRITER_H
#define CPB_SEARCH_INDEX_SNAPSHOT_WRITER_H

#include "search/index_codes.h"
#include "search/index_snapshot.h"

typedef struct cpb_snapshot_writer {
  const cpb_index *index; /* options and centres */
  cpb_whole file;
  cpb_index_layout l;
  cpb_index_block block; /* collects rows */
  cpb_coder *coder;
  size_t blocks;      /* written */
  cpb_page_sum *sums; /* of the segments written */
  size_t sums_room;
} cpb_snapshot_writer;

/* Opens the file of w->index with the layout w->l. EIO if an index is open for writing from there. own: < 0, or the
 * descriptor of the file of that name, held by the caller, its writer; another file is then not replaced. */
cpb_status cpb_snapshot_open(cpb_snapshot_writer *w, const char *path, int own, cpb_error *error);

/* Rows that are to be coded: allocates w->block and w->coder; adds a row to the block, which is written when it is full;
 * writes the last block. EROW counts rows from the first. */
cpb_status cpb_snapshot_begin_rows(cpb_snapshot_writer *w, cpb_error *error);
cpb_status cpb_snapshot_row(cpb_snapshot_writer *w, const void *row, cpb_error *error);
cpb_status cpb_snapshot_end_rows(cpb_snapshot_writer *w, cpb_error *error);

/* Completes a file whose blocks and ids are written: checksums and head, then the file replaces its target. */
cpb_status cpb_snapshot_commit(cpb_snapshot_writer *w, cpb_error *error);

/* Frees; without a commit the target stays as it was. */
void cpb_snapshot_close(cpb_snapshot_writer *w);

#endif
