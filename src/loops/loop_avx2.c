#include "loops/lanes_f64.h"
#include "loops/lanes_avx2.h"
#include "loops/products_wide.h"
#include "loops/hamming_wide.h"
#include "loops/digest.h"
#include "loops/grid.h"

void cpb_scan_bytes_avx2(const cpb_panel_bytes *panel);
void cpb_sum_bytes_avx2(const cpb_panel_sums *panels);

const cpb_loops cpb_loops_avx2 = {
    .name = "avx2",
    COMMON_LOOPS,
    .rows = {&cpb_float_rules_avx2, &cpb_double_rules_avx2},
    .tile = tile,
    .panel = panel_products,
    .signs = signs,
    .hamming = hamming_wide,
    .digest = digest,
    .scan_bytes = cpb_scan_bytes_avx2,
    .sum_bytes = cpb_sum_bytes_avx2,
};
