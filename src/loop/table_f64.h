/* The entries of a table that lanes_f64.h provides. */
.widen = {[CPB_F32] = widen_f32,
          [CPB_F64] = widen_f64,
          [CPB_F16] = widen_f16,
          [CPB_U8] = widen_u8,
          [CPB_I8] = widen_i8},
    .narrow = narrow, .dot = dot, .dist2 = dist2, .sum2 = sum2, .axpby = axpby, .span = span, .split = split,
    .rows_dist2 = {[CPB_F32] = rows_dist2_f32, [CPB_F64] = rows_dist2_f64}, .first_above = first_above,
    .spread = {[CPB_F32] = spread_f32, [CPB_F64] = spread_f64, [CPB_U8] = spread_u8, [CPB_I8] = spread_i8},
