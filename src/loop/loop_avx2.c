#include "loop/lanes_f64.h"

const cpb_loops cpb_loops_avx2 = {
    .name = "avx2",
#include "loop/table_f64.h"
};
