/* The snapshot at the beginning of an index file: head, segments of blocks, ids, checksums. docs/reference/index-format.md */
#ifndef CPB_SEARCH_INDEX_SNAPSHOT_H
#define CPB_SEARCH_INDEX_SNAPSHOT_H

#include "search/index_object.h"
#include "files/whole_file.h"

enum {
  CPB_FILE_PAGE = 4096, /* segments, ids, checksums and the log begin at multiples of it */
  CPB_SEGMENT = 64      /* blocks whose codes are contiguous, followed by their rows */
};

/* Pinned: stored in files. */
typedef enum cpb_ids_kind {
  CPB_IDS_NUMBERS = 0, /* row numbers, not stored */
  CPB_IDS_ANY = 1,
  CPB_IDS_RISING = 2,
} cpb_ids_kind;

/* The variable part of the head; the offsets follow from the counts and the options. */
typedef struct cpb_index_layout {
  uint64_t slots, next_id, ids_kind;
  uint64_t
      head; /* its bytes: those of a file that is open, whose names may have been decoded or renamed since */
  uint64_t blocks_at, ids_at, sums_at, log_at;
  uint64_t keys_at, key_bytes; /* behind the ids, in an index with keys; bytes of their text */
  uint64_t sums_checksum;
} cpb_index_layout;

cpb_index_layout cpb_index_layout_of(const cpb_index *index, uint64_t slots, cpb_ids_kind ids_kind,
                                     uint64_t key_bytes);

/* Whether a head's offsets follow from its counts and the file is long enough for them; sets l->keys_at. */
bool cpb_index_layout_fits(const cpb_index *index, cpb_index_layout *l, uint64_t size);

uint64_t cpb_index_layout_codes(const cpb_index *index, const cpb_index_layout *l, size_t block);
uint64_t cpb_index_layout_records(const cpb_index *index, const cpb_index_layout *l, size_t block);
uint64_t cpb_index_layout_rows(const cpb_index *index, const cpb_index_layout *l, size_t block);

/* The segments, and after them the ids with the keys, are the parts that have checksums. */
size_t cpb_index_layout_segments(const cpb_index_layout *l);

typedef struct cpb_file_part {
  uint64_t begin, end;
} cpb_file_part;
cpb_file_part cpb_index_layout_part(const cpb_index *index, const cpb_index_layout *l, size_t part);

/* 128 bits over the pages of a part. */
typedef struct cpb_page_sum {
  uint64_t half[2];
} cpb_page_sum;

/* Reads the pages of a part, a piece at a time. */
cpb_status cpb_page_sum_of(int fd, const char *path, cpb_file_part part, cpb_page_sum *sum, cpb_error *error);

/* Reads exactly `count` bytes; false with errno 0 if the file ends before. The other function reports either. */
bool cpb_read_at(int fd, uint64_t offset, void *bytes, size_t count);
cpb_status cpb_read_all(int fd, const char *path, uint64_t offset, void *bytes, size_t count,
                        cpb_error *error);

/* EFORMAT on machines whose sizes have less than 64 bits. */
cpb_status cpb_index_check_machine(const char *path, cpb_error *error);

/* ---- the head ---- */

cpb_status cpb_head_write(const cpb_index *index, const cpb_index_layout *l, const cpb_whole *file,
                          cpb_error *error);

/* Creates an empty index as the head of a file of `size` bytes describes it. */
cpb_status cpb_head_read(int fd, const char *path, uint64_t size, cpb_index **index, cpb_index_layout *l,
                         cpb_error *error);

#endif
