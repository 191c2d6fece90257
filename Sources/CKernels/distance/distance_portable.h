typedef enum { DOT, DISTANCE, DISTANCE_OF_HALVES } lk_reduction;

// The sixteen lanes of the vector targets, one at a time.
static float reduce(const float *query, const void *row, size_t dimension, lk_reduction reduction) {
    float lanes[16] = {0};
    for (size_t j = 0; j < dimension; j++) {
        float x =
            reduction == DISTANCE_OF_HALVES ? lk_float_of_half(((const uint16_t *)row)[j]) : ((const float *)row)[j];
        float d = query[j] - x;
        lanes[j % 16] = reduction == DOT ? fmaf(query[j], x, lanes[j % 16]) : fmaf(d, d, lanes[j % 16]);
    }
    for (int half = 8; half >= 1; half /= 2)
        for (int lane = 0; lane < half; lane++) lanes[lane] += lanes[lane + half];
    return lanes[0];
}

void KERNEL(squared_distances)(const float *query, const float *rows, ptrdiff_t row_stride, size_t count,
                               size_t dimension, float *out) {
    for (size_t i = 0; i < count; i++) out[i] = reduce(query, rows + i * row_stride, dimension, DISTANCE);
}

void KERNEL(squared_distances_of_halves)(const float *query, const uint16_t *rows, ptrdiff_t row_stride, size_t count,
                                         size_t dimension, float *out) {
    for (size_t i = 0; i < count; i++) out[i] = reduce(query, rows + i * row_stride, dimension, DISTANCE_OF_HALVES);
}

void KERNEL(widen_halves)(const uint16_t *halves, size_t count, float *out) {
    for (size_t i = 0; i < count; i++) {
        uint16_t half;
        memcpy(&half, (const char *)halves + i * sizeof half, sizeof half);
        out[i] = lk_float_of_half(half);
    }
}

void KERNEL(dot_products)(const float *query, const float *rows, ptrdiff_t row_stride, size_t count, size_t dimension,
                          float *out) {
    for (size_t i = 0; i < count; i++) out[i] = reduce(query, rows + i * row_stride, dimension, DOT);
}
