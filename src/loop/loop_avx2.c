#include "loop/lanes_f64.h"
#include "loop/lanes_avx2.h"
#include "loop/terms_both.h"
#include "loop/tile_wide.h"
#include "loop/panel_wide.h"
#include "loop/signs_wide.h"
#include "loop/spread_wide.h"
#include "loop/lanes_u64_avx2.h"
#include "loop/hamming_wide.h"
#include "loop/digest_wide.h"
#include "loop/grid.h"

cpb_rows_loop *cpb_rows_avx2(const cpb_rows_job *job);
extern const cpb_layer_loops cpb_layer_avx2;
void cpb_scan_bytes_avx2(const cpb_panel_bytes *panel);

const cpb_loops cpb_loops_avx2 = {
    .name = "avx2",
#include "loop/table_f64.inc"
    .rows = cpb_rows_avx2,
    .layer = &cpb_layer_avx2,
    .tile = tile,
    .panel = panel,
    .signs = signs,
    .hamming = hamming_wide,
    .digest = digest,
#include "loop/table_bytes.inc"
    .scan_bytes = cpb_scan_bytes_avx2,
};
