#include "loops/lanes_f64.h"
#include "loops/lanes_avx512.h"
#include "loops/products_wide.h"
#include "loops/hamming_wide.h"
#include "loops/digest.h"
#include "loops/grid.h"

void cpb_hamming_vpopcntdq(const cpb_hamming *hamming);
void cpb_panel_bytes_vnni(const cpb_panel_bytes *panel);
void cpb_panel_bytes_amx(const cpb_panel_bytes *panel);
void cpb_scan_bytes_avx2(const cpb_panel_bytes *panel);
void cpb_scan_bytes_vnni(const cpb_panel_bytes *panel);
void cpb_sum_bytes_avx2(const cpb_panel_sums *panels);
void cpb_sum_bytes_vnni(const cpb_panel_sums *panels);

/* Tiles read a panel once for sixteen rows, vectors for each CPB_BYTES_ROWS: as many or fewer are quicker without tiles. */
static void scan_bytes_amx(const cpb_panel_bytes *panel) {
  if (panel->rows <= CPB_BYTES_ROWS)
    cpb_scan_bytes_vnni(panel);
  else
    cpb_panel_bytes_amx(panel);
}

static void hamming(const cpb_hamming *h) {
  if (__builtin_cpu_supports("avx512vpopcntdq"))
    cpb_hamming_vpopcntdq(h);
  else
    hamming_wide(h);
}

/* What all processors with AVX-512 share: they differ in how they multiply bytes. */
#define LOOPS_AVX512                                                                                         \
  COMMON_LOOPS, .rows = {&cpb_float_rules_avx512, &cpb_double_rules_avx512}, .tile = tile,                   \
                .panel = panel_products, .signs = signs, .hamming = hamming, .digest = digest

const cpb_loops cpb_loops_avx512 = {
    .name = "avx512",
    LOOPS_AVX512,
    .scan_bytes = cpb_scan_bytes_avx2,
    .sum_bytes = cpb_sum_bytes_avx2,
};

const cpb_loops cpb_loops_avx512vnni = {
    .name = "avx512vnni",
    LOOPS_AVX512,
    .panel_bytes = cpb_panel_bytes_vnni,
    .scan_bytes = cpb_scan_bytes_vnni,
    .sum_bytes = cpb_sum_bytes_vnni,
};

const cpb_loops cpb_loops_amx = {
    .name = "amx",
    LOOPS_AVX512,
    .panel_bytes = cpb_panel_bytes_amx,
    .scan_bytes = scan_bytes_amx,
    .sum_bytes = cpb_sum_bytes_vnni,
};
