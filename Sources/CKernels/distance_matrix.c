// One version for all targets: these read what products of many times as many operations wrote.

#include "CKernels.h"
#include "vector.h"

typedef float lk_f32x4_any __attribute__((vector_size(16), aligned(4)));

void lk_transpose_products(const float *products, size_t step, size_t count, size_t queries, float *out,
                           ptrdiff_t out_stride) {
    size_t query = 0;
    // Four queries at once: few lines of the output, which may all fall into one set of the cache.
    for (; query + 4 <= queries; query += 4) {
        float *line = out + (ptrdiff_t)query * out_stride;
        size_t row = 0;
        for (; row + 4 <= count; row += 4) {
            const float *p = products + row * step + query;
            const lk_f32x4_any a = *(const lk_f32x4_any *)p, b = *(const lk_f32x4_any *)(p + step),
                               c = *(const lk_f32x4_any *)(p + 2 * step), d = *(const lk_f32x4_any *)(p + 3 * step);
            const lk_f32x4_any ab01 = __builtin_shufflevector(a, b, 0, 4, 1, 5),
                               cd01 = __builtin_shufflevector(c, d, 0, 4, 1, 5),
                               ab23 = __builtin_shufflevector(a, b, 2, 6, 3, 7),
                               cd23 = __builtin_shufflevector(c, d, 2, 6, 3, 7);
            *(lk_f32x4_any *)(line + row) = __builtin_shufflevector(ab01, cd01, 0, 1, 4, 5);
            *(lk_f32x4_any *)(line + out_stride + row) = __builtin_shufflevector(ab01, cd01, 2, 3, 6, 7);
            *(lk_f32x4_any *)(line + 2 * out_stride + row) = __builtin_shufflevector(ab23, cd23, 0, 1, 4, 5);
            *(lk_f32x4_any *)(line + 3 * out_stride + row) = __builtin_shufflevector(ab23, cd23, 2, 3, 6, 7);
        }
        for (; row < count; row++) {
            for (size_t lane = 0; lane < 4; lane++) {
                line[(ptrdiff_t)lane * out_stride + (ptrdiff_t)row] = products[row * step + query + lane];
            }
        }
    }
    for (; query < queries; query++) {
        float *line = out + (ptrdiff_t)query * out_stride;
        for (size_t row = 0; row < count; row++) line[row] = products[row * step + query];
    }
}

// The same for up to sixteen rows.
LK_INLINE bool finish(float *products, const float *squared_norms, float squared_norm, size_t count, float share,
                      bool is_rooted) {
    const lk_f32x16 norms = lk_load16_partial(squared_norms, count) + squared_norm;
    const lk_f32x16 sum = lk_load16_partial(products, count) + norms;
    // Not below zero; what is no number stays so.
    lk_f32x16 result = (lk_f32x16)((lk_i32x16)sum & ~(sum < 0));
    if (is_rooted) result = __builtin_elementwise_sqrt(result);
    memcpy(products, &result, count * sizeof(float));
    return (lk_lanes(sum < norms * share) & ((1u << count) - 1)) != 0;
}

bool lk_finish_distances(float *products, const float *squared_norms, float squared_norm, size_t count, float share,
                         bool is_rooted) {
    bool is_small = false;
    size_t row = 0;
    for (; row + 16 <= count; row += 16) {
        is_small |= finish(products + row, squared_norms + row, squared_norm, 16, share, is_rooted);
    }
    return is_small | finish(products + row, squared_norms + row, squared_norm, count - row, share, is_rooted);
}
