// Sixteen running sums a row, eight rows at a time: enough independent chains to hide the latency
// of a fused multiply-add, and the same order of additions in every tier.
//
// The including file defines SQUARED_DISTANCES and DOT_PRODUCTS, and sets the target.

#include "../vector.h"

// Bytes ahead of what is computed that memory is asked for; measured.
enum { ROWS_AT_ONCE = 8, AHEAD = 4096 };

LK_INLINE lk_f32x16 term(lk_f32x16 q, lk_f32x16 x, lk_f32x16 sum, const int is_distance) {
    if (!is_distance) return __builtin_elementwise_fma(q, x, sum);
    lk_f32x16 d = q - x;
    return __builtin_elementwise_fma(d, d, sum);
}

LK_INLINE void reduce_rows(const float *query, const float *rows, ptrdiff_t row_stride,
                           size_t dimension, float *out, const int count, const int is_distance) {
    lk_f32x16 sums[ROWS_AT_ONCE];
#pragma clang loop unroll(full)
    for (int r = 0; r < count; r++) sums[r] = lk_splat16(0);
    size_t j = 0;
    for (; j + 16 <= dimension; j += 16) {
        lk_f32x16 q = lk_load16(query + j);
#pragma clang loop unroll(full)
        for (int r = 0; r < count; r++) {
            const float *x = rows + r * row_stride + j;
            if (count > 1) __builtin_prefetch((const char *)x + AHEAD);
            sums[r] = term(q, lk_load16(x), sums[r], is_distance);
        }
    }
    if (j < dimension) {
        lk_f32x16 q = lk_load16_partial(query + j, dimension - j);
#pragma clang loop unroll(full)
        for (int r = 0; r < count; r++)
            sums[r] = term(q, lk_load16_partial(rows + r * row_stride + j, dimension - j), sums[r],
                           is_distance);
    }
#pragma clang loop unroll(full)
    for (int r = 0; r < count; r++) out[r] = lk_sum16(sums[r]);
}

LK_INLINE void reduce_all(const float *query, const float *rows, ptrdiff_t row_stride, size_t count,
                          size_t dimension, float *out, const int is_distance) {
    size_t i = 0;
    for (; i + ROWS_AT_ONCE <= count; i += ROWS_AT_ONCE)
        reduce_rows(query, rows + i * row_stride, row_stride, dimension, out + i, ROWS_AT_ONCE,
                    is_distance);
    for (; i < count; i++)
        reduce_rows(query, rows + i * row_stride, row_stride, dimension, out + i, 1, is_distance);
}

void SQUARED_DISTANCES(const float *query, const float *rows, ptrdiff_t row_stride, size_t count,
                       size_t dimension, float *out) {
    reduce_all(query, rows, row_stride, count, dimension, out, 1);
}

void DOT_PRODUCTS(const float *query, const float *rows, ptrdiff_t row_stride, size_t count,
                  size_t dimension, float *out) {
    reduce_all(query, rows, row_stride, count, dimension, out, 0);
}
