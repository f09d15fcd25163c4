#include "block.h"

cpb_status cli_block_read(const cpb_reader *reader, uint64_t first, size_t count, void *buffer,
                          cli_block *block, cpb_error *error) {
  cpb_status status = cpb_reader_lend(reader, first, count, &block->loan, &block->rows, error);
  if (status != CPB_EINVAL) return status;
  return cpb_reader_at(reader, first, count, buffer, &block->rows, error);
}

cpb_status cli_block_release(const cpb_reader *reader, cli_block *block, cpb_error *error) {
  return cpb_reader_give_back(reader, &block->loan, error);
}
