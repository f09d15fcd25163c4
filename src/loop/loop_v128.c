#include "loop/lanes_f64.h"
#include "loop/lanes_v128.h"
#include "loop/products_wide.h"
#include "loop/hamming_wide.h"
#include "loop/digest_wide.h"
#include "loop/grid.h"

void cpb_panel_bytes_plain(const cpb_panel_bytes *panel);

const cpb_loops cpb_loops_v128 = {
    .name = "v128",
#include "loop/table_f64.inc"
    .rows = {&cpb_float_rules_v128, &cpb_double_rules_v128},
    .layer = &cpb_layer_v128,
    .tile = tile,
    .panel = panel_products,
    .signs = signs,
    .hamming = hamming_wide,
    .digest = digest,
    .scan_bytes = cpb_panel_bytes_plain,
};
