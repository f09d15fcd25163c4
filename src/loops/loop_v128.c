#include "loops/lanes_f64.h"
#include "loops/lanes_v128.h"
#include "loops/products_wide.h"
#include "loops/hamming_wide.h"
#include "loops/digest.h"
#include "loops/grid.h"
#if defined(__aarch64__)
void cpb_panel_bytes_plain(const cpb_panel_bytes *panel);
void cpb_sum_bytes_plain(const cpb_panel_sums *panels);
#else
#include "loops/products_v128.h"
#include "loops/panel_bytes.inc"
#endif

const cpb_loops cpb_loops_v128 = {
    .name = "v128",
    COMMON_LOOPS,
    .rows = {&cpb_float_rules_v128, &cpb_double_rules_v128},
    .panel = panel_products,
    .signs = signs,
    .hamming = hamming_wide,
    .digest = digest,
#if defined(__aarch64__)
    .tile = tile,
    .scan_bytes = cpb_panel_bytes_plain,
    .sum_bytes = cpb_sum_bytes_plain,
#else
    .tile = tile_v128,
    .panel_bytes = bytes_products,
    .scan_bytes = bytes_scan,
    .sum_bytes = bytes_sums,
#endif
};
