#include "loop/lanes_f64.h"

const cpb_loops cpb_loops_plain = {
    .name = "plain",
#include "loop/table_f64.h"
};
