/* A block of rows of a file with random access: the file's own pages where they can be lent, else a copy. */
#ifndef CLI_BLOCK_H
#define CLI_BLOCK_H

#include "capball/capball.h"

typedef struct cli_block {
  cpb_view rows;
  cpb_loan loan;
} cli_block;

/* buffer: cpb_reader_buffer_size(reader, count) bytes. Release the block in any case, and count on
 * what was made of it only after that; thread-safe. */
cpb_status cli_block_read(const cpb_reader *reader, uint64_t first, size_t count, void *buffer,
                          cli_block *block, cpb_error *error);
cpb_status cli_block_release(const cpb_reader *reader, cli_block *block, cpb_error *error);

#endif
