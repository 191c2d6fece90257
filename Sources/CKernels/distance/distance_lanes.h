// Sixteen running sums per row, and the same order of additions in every SIMD target. Rows come one after the
// other, as they lie in memory: one stream is what the prefetchers follow best, and the processor works at
// several rows at once by itself.

// The number of rows from which prefetching pays off, and the prefetch distance in bytes; measured.
enum { SCAN = 8, SCAN_AHEAD = 4096 };

LK_INLINE lk_f32x16 term(lk_f32x16 q, lk_f32x16 x, lk_f32x16 sum, const int is_distance) {
    if (!is_distance) return __builtin_elementwise_fma(q, x, sum);
    lk_f32x16 d = q - x;
    return __builtin_elementwise_fma(d, d, sum);
}

LK_INLINE void reduce_all(const float *query, const float *rows, ptrdiff_t row_stride, size_t count, size_t dimension,
                          float *out, const int is_distance) {
    const size_t whole = dimension / 16 * 16;
    const ptrdiff_t ahead = count >= SCAN ? SCAN_AHEAD : 0;
    lk_f32x16 rest = lk_splat16(0);
    if (whole < dimension) rest = lk_load16_partial(query + whole, dimension - whole);
    for (size_t i = 0; i < count; i++) {
        const float *row = rows + (ptrdiff_t)i * row_stride;
        lk_f32x16 sum = lk_splat16(0);
#pragma clang loop unroll_count(4)
        for (size_t j = 0; j < whole; j += 16) {
            __builtin_prefetch((const char *)(row + j) + ahead);
            sum = term(lk_load16(query + j), lk_load16(row + j), sum, is_distance);
        }
        if (whole < dimension) sum = term(rest, lk_load16_partial(row + whole, dimension - whole), sum, is_distance);
        out[i] = lk_sum16(sum);
    }
}

void KERNEL(squared_distances)(const float *query, const float *rows, ptrdiff_t row_stride, size_t count,
                               size_t dimension, float *out) {
    reduce_all(query, rows, row_stride, count, dimension, out, 1);
}

void KERNEL(dot_products)(const float *query, const float *rows, ptrdiff_t row_stride, size_t count, size_t dimension,
                          float *out) {
    reduce_all(query, rows, row_stride, count, dimension, out, 0);
}
