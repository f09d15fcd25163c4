#include "loops/lanes_f64.h"
#include "loops/products_plain.h"
#include "loops/rows_plain.h"
#include "loops/digest.h"
#include "loops/grid.h"

void cpb_panel_bytes_plain(const cpb_panel_bytes *panel);
void cpb_panel_bytes_plain(const cpb_panel_bytes *p) { panel_bytes(p); }
void cpb_sum_bytes_plain(const cpb_panel_sums *panels);
void cpb_sum_bytes_plain(const cpb_panel_sums *panels) { panel_sums(panels); }

const cpb_loops cpb_loops_plain = {
    .name = "plain",
    COMMON_LOOPS,
    .tile = tile,
    .panel = panel,
    .signs = signs,
    .hamming = hamming,
    .digest = digest,
    .panel_bytes = panel_bytes,
    .scan_bytes = panel_bytes,
    .sum_bytes = panel_sums,
};
