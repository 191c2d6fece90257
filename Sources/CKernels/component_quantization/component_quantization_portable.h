float KERNEL(largest_magnitude)(const float *values, size_t count) {
    float widest = LK_SMALLEST_COMPONENT;
    for (size_t i = 0; i < count; i++) widest = fmaxf(widest, fabsf(values[i]));
    return widest;
}

lk_quantization KERNEL(quantize_components)(const float *values, size_t count, int8_t *codes) {
    const float unit = KERNEL(largest_magnitude)(values, count) / 127;
    int32_t sum = 0;
    for (size_t i = 0; i < count; i++) {
        codes[i] = (int8_t)__builtin_roundevenf(values[i] / unit);
        sum += codes[i];
    }
    return (lk_quantization){unit, sum};
}
