#include "loop/lanes_f64.h"
#include "loop/products_plain.h"
#include "loop/rows_plain.h"
#include "loop/grid.h"

const cpb_loops cpb_loops_plain = {
    .name = "plain",
#include "loop/table_f64.inc"
    .layer = &plain_layer,
    .tile = tile,
    .panel = panel,
    .signs = signs,
    .hamming = hamming,
    .panel_bytes = panel_bytes,
};
