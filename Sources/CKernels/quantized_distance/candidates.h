// Packing and candidate selection, the same on every SIMD target.

void KERNEL(pack_quantized_rows)(const uint8_t *rows, ptrdiff_t row_stride, size_t count, size_t dimension,
                                 uint8_t *packed) {
    const size_t quads = (dimension + 3) / 4, whole = dimension / 4;
    for (size_t group = 0; group * 16 < count; group++) {
        uint8_t *out = packed + group * quads * 64;
        for (size_t r = 0; r < 16; r++) {
            const size_t i = group * 16 + r;
            const uint8_t *row = rows + (ptrdiff_t)i * row_stride;
            for (size_t quad = 0; quad < quads; quad++) {
                uint8_t four[4] = {0};
                if (i < count) memcpy(four, row + quad * 4, quad < whole ? 4 : dimension - whole * 4);
                memcpy(out + quad * 64 + r * 4, four, 4);
            }
        }
    }
}

size_t KERNEL(select_candidates)(const lk_distance_bound *bound, const int32_t *dots, const float *scales,
                                 const float *squared_norms, const float *residual_norms, size_t count, float limit,
                                 uint32_t *found) {
    size_t within = 0;
    for (size_t i = 0; i < count; i += 16) {
        const size_t present = count - i < 16 ? count - i : 16;
        lk_i32x16 dot = {0};
        lk_f32x16 scale, norm, residual_norm;
        if (present == 16) {
            memcpy(&dot, dots + i, sizeof dot);
            scale = lk_load16(scales + i);
            norm = lk_load16(squared_norms + i);
            residual_norm = lk_load16(residual_norms + i);
        } else {
            memcpy(&dot, dots + i, present * sizeof(int32_t));
            scale = lk_load16_partial(scales + i, present);
            norm = lk_load16_partial(squared_norms + i, present);
            residual_norm = lk_load16_partial(residual_norms + i, present);
        }
        lk_f32x16 lower = bound->base + bound->norm_weight * norm;
        lower -= bound->dot_weight * scale * __builtin_convertvector(dot - bound->dot_offset, lk_f32x16);
        lower -= bound->residual_weight * residual_norm;
        // Not “below”: a NaN bound rejects nothing.
        const lk_i32x16 out = lower > limit;
        if (__builtin_reduce_and(out)) continue;
        for (size_t r = 0; r < present; r++)
            if (!out[r]) found[within++] = (uint32_t)(i + r);
    }
    return within;
}
