// Selection by the lower bounds, the same on every SIMD target.

typedef uint16_t lk_u16x16 __attribute__((vector_size(32)));

size_t KERNEL(select_binary_codes)(const lk_binary_query *query, const uint8_t *blocks, size_t count, float limit,
                                   uint32_t *found, float *lower_bounds) {
    const size_t code_bytes = query->columns * 16, block_bytes = code_bytes + LK_BINARY_FACTOR_BYTES;
    // Lists are too short for the prefetchers, which begin anew with each page.
    const ptrdiff_t ahead = lk_scan_ahead();
    size_t within = 0;
    for (size_t start = 0; start < count; start += LK_BINARY_BLOCK) {
        const uint8_t *block = blocks + start / LK_BINARY_BLOCK * block_bytes;
        const float *factors = (const float *)(const void *)(block + code_bytes);
        if (ahead) lk_prefetch(block + ahead, block_bytes);
        uint16_t sums[LK_BINARY_BLOCK];
        lk_sum_columns(query->tables, block, query->columns, sums);
        const size_t present = count - start < LK_BINARY_BLOCK ? count - start : LK_BINARY_BLOCK;
        for (size_t half = 0; half < present; half += 16) {
            lk_u16x16 sum;
            memcpy(&sum, sums + half, sizeof sum);
            const lk_f32x16 product = __builtin_elementwise_fma(__builtin_convertvector(sum, lk_f32x16),
                                                                lk_splat16(query->step), lk_splat16(query->offset));
            const lk_f32x16 distance = __builtin_elementwise_fma(lk_load16(factors + LK_BINARY_BLOCK + half), product,
                                                                 lk_load16(factors + half) + query->base);
            const lk_f32x16 lower = __builtin_elementwise_fma(lk_load16(factors + 2 * LK_BINARY_BLOCK + half),
                                                              lk_splat16(-query->error_weight), distance);
            // Not “below”: a NaN bound rejects nothing.
            const lk_i32x16 out = lower > limit;
            if (__builtin_reduce_and(out)) continue;
            for (size_t i = 0; i < 16 && half + i < present; i++) {
                if (out[i]) continue;
                lower_bounds[within] = lower[i];
                found[within++] = (uint32_t)(start + half + i);
            }
        }
    }
    return within;
}
