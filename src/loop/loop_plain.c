#include "loop/lanes_f64.h"
#include "loop/spread_plain.h"
#include "loop/rows_plain.h"
#include "loop/tile_plain.h"
#include "loop/panel_plain.h"
#include "loop/hamming_plain.h"
#include "loop/grid.h"
#include "loop/panel_bytes_plain.h"

const cpb_loops cpb_loops_plain = {
    .name = "plain",
#include "loop/table_f64.inc"
    .layer = &plain_layer,
    .tile = tile,
    .panel = panel,
    .signs = signs,
    .hamming = hamming,
#include "loop/table_bytes.inc"
    .panel_bytes = panel_bytes,
};
