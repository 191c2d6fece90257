// Quantizes the components of a vector to int8 with one step, sixteen at a time.

typedef int8_t i8x16 __attribute__((vector_size(16)));

float KERNEL(largest_magnitude)(const float *values, size_t count) {
    lk_f32x16 widest = lk_splat16(LK_SMALLEST_COMPONENT);
    for (size_t i = 0; i < count; i += 16)
        widest = __builtin_elementwise_max(widest, __builtin_elementwise_abs(lk_load16(values + i)));
    return __builtin_reduce_max(widest);
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
