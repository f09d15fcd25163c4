#include "loop/lanes_f64.h"
#include "loop/lanes_avx2.h"
#include "loop/rows_wide.h"
#include "loop/terms_both.h"
#include "loop/tile_wide.h"
#include "loop/panel_wide.h"
#include "loop/signs_wide.h"
#include "loop/lanes_u64_avx2.h"
#include "loop/hamming_wide.h"

static void embed_f32(const cpb_rows_job *job) { walk_all(job, &source_f32, true); }
static void embed_f16(const cpb_rows_job *job) { walk_all(job, &source_f16, true); }
static void embed_u8(const cpb_rows_job *job) { walk_all(job, &source_u8, true); }
static void embed_i8(const cpb_rows_job *job) { walk_all(job, &source_i8, true); }
static void unembed_f32(const cpb_rows_job *job) { walk_all(job, &source_f32, false); }

const cpb_loops cpb_loops_avx2 = {
    .name = "avx2",
#include "loop/table_f64.h"
#include "loop/table_rows.h"
    .tile = tile,
    .panel = panel,
    .signs = signs,
    .hamming = hamming_wide,
};
