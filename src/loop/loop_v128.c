#include "loop/lanes_f64.h"
#include "loop/lanes_v128.h"
#include "loop/terms_both.h"
#if defined(__aarch64__)
#include "loop/tile_wide.h"
#else
#include "loop/tile_v128.h"
#endif
#include "loop/panel_wide.h"
#include "loop/signs_wide.h"
#include "loop/spread_wide.h"
#include "loop/hamming_wide.h"
#include "loop/digest_wide.h"
#include "loop/grid.h"
#if defined(__SSE2__) || defined(__wasm_simd128__)
#include "loop/lanes_bytes_v128.h"
#include "loop/panel_bytes_wide.inc"
#else
#include "loop/panel_bytes_plain.h"
#endif

#if defined(__SSE2__) || defined(__wasm_simd128__)
static void scan_bytes(const cpb_panel_bytes *panel) {
  if (panel->rows == 1 && panel->columns > 0)
    panel_bytes_one(panel);
  else
    panel_bytes_wide(panel);
}
#endif

cpb_rows_loop *cpb_rows_v128(const cpb_rows_job *job);
extern const cpb_layer_loops cpb_layer_v128;

const cpb_loops cpb_loops_v128 = {
    .name = "v128",
#include "loop/table_f64.inc"
    .rows = cpb_rows_v128,
    .layer = &cpb_layer_v128,
#if defined(__aarch64__)
    .tile = tile,
#else
    .tile = tile_v128,
#endif
    .panel = panel,
    .signs = signs,
    .hamming = hamming_wide,
    .digest = digest,
#include "loop/table_bytes.inc"
#if defined(__SSE2__) || defined(__wasm_simd128__)
    .panel_bytes = panel_bytes_wide,
    .scan_bytes = scan_bytes,
#else
    .scan_bytes = panel_bytes,
#endif
};
