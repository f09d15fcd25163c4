/* The entries of a table that rows_plain.h or rows_by_length.h provides. */
.embed = {[CPB_F32] = embed_f32, [CPB_F16] = embed_f16, [CPB_U8] = embed_u8, [CPB_I8] = embed_i8},
    .unembed = unembed_f32,
