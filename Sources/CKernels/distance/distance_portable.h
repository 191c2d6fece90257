// The sixteen lanes of the vector targets, one at a time.
static void add(float *lane, float difference) { *lane = fmaf(difference, difference, *lane); }

static float sum_of(float lanes[16]) {
    for (int half = 8; half >= 1; half /= 2)
        for (int lane = 0; lane < half; lane++) lanes[lane] += lanes[lane + half];
    return lanes[0];
}

void KERNEL(squared_distances)(const float *query, const float *rows, ptrdiff_t row_stride, size_t count,
                               size_t dimension, float *out) {
    for (size_t i = 0; i < count; i++) {
        const float *row = rows + (ptrdiff_t)i * row_stride;
        float lanes[16] = {0};
        for (size_t j = 0; j < dimension; j++) add(&lanes[j % 16], query[j] - row[j]);
        out[i] = sum_of(lanes);
    }
}

void KERNEL(squared_distances_of_halves)(const float *query, const uint16_t *rows, ptrdiff_t row_stride, size_t count,
                                         size_t dimension, float *out) {
    for (size_t i = 0; i < count; i++) {
        const uint16_t *row = rows + (ptrdiff_t)i * row_stride;
        float lanes[16] = {0};
        for (size_t j = 0; j < dimension; j++) add(&lanes[j % 16], query[j] - lk_float_of_half(row[j]));
        out[i] = sum_of(lanes);
    }
}

void KERNEL(widen_halves)(const uint16_t *halves, size_t count, float *out) {
    lk_widen(halves, LK_FLOAT16, count, out);
}

void KERNEL(dot_products)(const float *query, const float *rows, ptrdiff_t row_stride, size_t count, size_t dimension,
                          float *out) {
    for (size_t i = 0; i < count; i++) {
        const float *row = rows + (ptrdiff_t)i * row_stride;
        float lanes[16] = {0};
        for (size_t j = 0; j < dimension; j++) lanes[j % 16] = fmaf(query[j], row[j], lanes[j % 16]);
        out[i] = sum_of(lanes);
    }
}
