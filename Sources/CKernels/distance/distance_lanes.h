// Sixteen running sums per row, and the same order of additions in every SIMD target. Rows come one after the
// other, as they lie in memory: one stream is what the prefetchers follow best, and the processor works at
// several rows at once by itself.

// The number of rows from which prefetching pays off; measured.
enum { SCAN = 8 };

typedef enum { DOT, DISTANCE, DISTANCE_OF_HALVES } lk_reduction;

LK_INLINE lk_f32x16 term(lk_f32x16 q, lk_f32x16 x, lk_f32x16 sum, const lk_reduction reduction) {
    if (reduction == DOT) return __builtin_elementwise_fma(q, x, sum);
    lk_f32x16 d = q - x;
    return __builtin_elementwise_fma(d, d, sum);
}

// The components of a row from `p` on; zeros after the first `count` of them.
LK_INLINE lk_f32x16 components(const char *p, size_t count, const lk_reduction reduction) {
    if (reduction == DISTANCE_OF_HALVES) {
        lk_f16x16 halves = {0};
        memcpy(&halves, p, count * sizeof(uint16_t));
        return __builtin_convertvector(halves, lk_f32x16);
    }
    lk_f32x16 floats = lk_splat16(0);
    memcpy(&floats, p, count * sizeof(float));
    return floats;
}

LK_INLINE void reduce_rows(const float *query, const char *rows, ptrdiff_t row_bytes, size_t count, size_t dimension,
                           float *out, const lk_reduction reduction, const bool prefetches) {
    const size_t whole = dimension / 16 * 16, size = reduction == DISTANCE_OF_HALVES ? 2 : 4;
    const ptrdiff_t ahead = lk_scan_ahead();
    lk_f32x16 rest = lk_splat16(0);
    if (whole < dimension) rest = lk_load16_partial(query + whole, dimension - whole);
    for (size_t i = 0; i < count; i++) {
        const char *row = rows + (ptrdiff_t)i * row_bytes;
        lk_f32x16 sum = lk_splat16(0);
#pragma clang loop unroll_count(4)
        for (size_t j = 0; j < whole; j += 16) {
            if (prefetches) __builtin_prefetch(row + j * size + ahead);
            sum = term(lk_load16(query + j), components(row + j * size, 16, reduction), sum, reduction);
        }
        if (whole < dimension)
            sum = term(rest, components(row + whole * size, dimension - whole, reduction), sum, reduction);
        out[i] = lk_sum16(sum);
    }
}

LK_INLINE void reduce_all(const float *query, const void *rows, ptrdiff_t row_stride, size_t count, size_t dimension,
                          float *out, const lk_reduction reduction) {
    const ptrdiff_t row_bytes = row_stride * (reduction == DISTANCE_OF_HALVES ? 2 : 4);
    if (count >= SCAN && lk_scan_ahead()) reduce_rows(query, rows, row_bytes, count, dimension, out, reduction, true);
    else reduce_rows(query, rows, row_bytes, count, dimension, out, reduction, false);
}

void KERNEL(squared_distances)(const float *query, const float *rows, ptrdiff_t row_stride, size_t count,
                               size_t dimension, float *out) {
    reduce_all(query, rows, row_stride, count, dimension, out, DISTANCE);
}

void KERNEL(squared_distances_of_halves)(const float *query, const uint16_t *rows, ptrdiff_t row_stride, size_t count,
                                         size_t dimension, float *out) {
    reduce_all(query, rows, row_stride, count, dimension, out, DISTANCE_OF_HALVES);
}

void KERNEL(widen_halves)(const uint16_t *halves, size_t count, float *out) {
    const size_t whole = count / 16 * 16;
    for (size_t i = 0; i < whole; i += 16)
        lk_store16(out + i, components((const char *)(halves + i), 16, DISTANCE_OF_HALVES));
    const lk_f32x16 rest = components((const char *)(halves + whole), count - whole, DISTANCE_OF_HALVES);
    memcpy(out + whole, &rest, (count - whole) * sizeof(float));
}

void KERNEL(dot_products)(const float *query, const float *rows, ptrdiff_t row_stride, size_t count, size_t dimension,
                          float *out) {
    reduce_all(query, rows, row_stride, count, dimension, out, DOT);
}
