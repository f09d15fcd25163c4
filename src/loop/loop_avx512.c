#include "loop/lanes_f64.h"

const cpb_loops cpb_loops_avx512 = {
    .name = "avx512",
#include "loop/table_f64.h"
};
