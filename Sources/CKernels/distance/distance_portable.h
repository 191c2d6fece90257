// The sixteen lanes of the vector targets, one at a time.
static float reduce(const float *query, const float *row, size_t dimension, bool is_distance) {
    float lanes[16] = {0};
    for (size_t j = 0; j < dimension; j++) {
        float d = query[j] - row[j];
        lanes[j % 16] = is_distance ? fmaf(d, d, lanes[j % 16]) : fmaf(query[j], row[j], lanes[j % 16]);
    }
    for (int half = 8; half >= 1; half /= 2)
        for (int lane = 0; lane < half; lane++) lanes[lane] += lanes[lane + half];
    return lanes[0];
}

void KERNEL(squared_distances)(const float *query, const float *rows, ptrdiff_t row_stride, size_t count,
                               size_t dimension, float *out) {
    for (size_t i = 0; i < count; i++) out[i] = reduce(query, rows + i * row_stride, dimension, true);
}

void KERNEL(dot_products)(const float *query, const float *rows, ptrdiff_t row_stride, size_t count, size_t dimension,
                          float *out) {
    for (size_t i = 0; i < count; i++) out[i] = reduce(query, rows + i * row_stride, dimension, false);
}
