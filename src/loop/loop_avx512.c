#include "loop/lanes_f64.h"
#include "loop/lanes_avx512.h"
#include "loop/rows_wide.h"
#include "loop/rows_narrow_avx512.h"
#include "loop/terms_both.h"
#include "loop/tile_wide.h"
#include "loop/panel_wide.h"
#include "loop/signs_wide.h"
#include "loop/lanes_u64_avx512.h"
#include "loop/hamming_wide.h"

void cpb_hamming_vpopcntdq(const cpb_hamming *hamming);

static void hamming(const cpb_hamming *h) {
  if (__builtin_cpu_supports("avx512vpopcntdq"))
    cpb_hamming_vpopcntdq(h);
  else
    hamming_wide(h);
}

static void embed_narrow(const cpb_rows_job *job) { narrow_rows(job, true); }
static void unembed_narrow(const cpb_rows_job *job) { narrow_rows(job, false); }

LANE_INLINE void map_rows(const cpb_rows_job *job, const row_source *source, bool embedding) {
  if (!is_narrow(job)) {
    walk_all(job, source, embedding);
    return;
  }
  cpb_rows_loop *narrow_loop = embedding ? embed_narrow : unembed_narrow;
  if (source == &source_f32 && is_dense(job))
    narrow_loop(job);
  else
    narrow_staged(job, source, embedding, narrow_loop);
  _mm_sfence();
}

static void embed_f32(const cpb_rows_job *job) { map_rows(job, &source_f32, true); }
static void embed_f16(const cpb_rows_job *job) { map_rows(job, &source_f16, true); }
static void embed_u8(const cpb_rows_job *job) { map_rows(job, &source_u8, true); }
static void embed_i8(const cpb_rows_job *job) { map_rows(job, &source_i8, true); }
static void unembed_f32(const cpb_rows_job *job) { map_rows(job, &source_f32, false); }

const cpb_loops cpb_loops_avx512 = {
    .name = "avx512",
#include "loop/table_f64.h"
#include "loop/table_rows.h"
    .tile = tile,
    .panel = panel,
    .signs = signs,
    .hamming = hamming,
};
