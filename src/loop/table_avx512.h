/* What the tables of all processors with AVX-512 share: they differ in how they multiply bytes. */
#include "loop/table_f64.h"
.rows = cpb_rows_avx512, .layer = &cpb_layer_avx512, .tile = tile, .panel = panel, .signs = signs,
                         .hamming = hamming,
#include "loop/table_bytes.h"
