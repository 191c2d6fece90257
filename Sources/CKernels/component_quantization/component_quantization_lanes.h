// Quantizes the components of a vector to int8 with one step, sixteen at a time.

typedef int8_t i8x16 __attribute__((vector_size(16)));

float KERNEL(largest_magnitude)(const float *values, size_t count) {
    // Four, so that none waits for the one before.
    lk_f32x16 widest[4];
    for (int i = 0; i < 4; i++) widest[i] = lk_splat16(LK_SMALLEST_COMPONENT);
    size_t i = 0;
    for (; i + 64 <= count; i += 64)
#pragma clang loop unroll(full)
        for (int k = 0; k < 4; k++)
            widest[k] = lk_max16(__builtin_elementwise_abs(lk_load16(values + i + 16 * k)), widest[k]);
    for (; i < count; i += 16) widest[0] = lk_max16(__builtin_elementwise_abs(lk_load16(values + i)), widest[0]);
    return lk_largest16(lk_max16(lk_max16(widest[0], widest[1]), lk_max16(widest[2], widest[3])));
}

lk_quantization KERNEL(quantize_components)(const float *values, size_t count, int8_t *codes) {
    const float unit = KERNEL(largest_magnitude)(values, count) / 127;
    lk_i32x16 sums = {0};
    for (size_t i = 0; i < count; i += 16) {
        const lk_f32x16 steps = __builtin_elementwise_roundeven(lk_load16(values + i) / lk_splat16(unit));
        const lk_i32x16 code = __builtin_convertvector(steps, lk_i32x16);
        sums += code;
        const i8x16 bytes = __builtin_convertvector(code, i8x16);
        memcpy(codes + i, &bytes, sizeof bytes);
    }
    return (lk_quantization){unit, __builtin_reduce_add(sums)};
}
