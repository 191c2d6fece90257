// Dot products of int8 rows with sdot, which adds the products of four components to a sum.
//
// sdot takes signed factors: 128 is subtracted from the codes of the rows, and 128 times the sum of the query added.

enum { STEP = 16, ROWS_AT_ONCE = 4 };

LK_INLINE int8x16_t codes_at(const uint8_t *row) {
    return vreinterpretq_s8_u8(veorq_u8(vld1q_u8(row), vdupq_n_u8(0x80)));
}

LK_INLINE void dot_block(const int8_t *query, int32_t query_sum, const uint8_t *rows, ptrdiff_t row_stride,
                         size_t dimension, int32_t *out, const int count) {
    int32x4_t sums[ROWS_AT_ONCE];
    const size_t whole = dimension / STEP * STEP;
#pragma clang loop unroll(full)
    for (int r = 0; r < count; r++) sums[r] = vdupq_n_s32(0);
    for (size_t j = 0; j < whole; j += STEP) {
        const int8x16_t part = vld1q_s8(query + j);
#pragma clang loop unroll(full)
        for (int r = 0; r < count; r++) sums[r] = vdotq_s32(sums[r], part, codes_at(rows + r * row_stride + j));
    }
#pragma clang loop unroll(full)
    for (int r = 0; r < count; r++) {
        int32_t sum = vaddvq_s32(sums[r]) + 128 * query_sum;
        for (size_t j = whole; j < dimension; j++) sum += query[j] * rows[r * row_stride + (ptrdiff_t)j];
        out[r] = sum;
    }
}

void KERNEL(quantized_dot_products)(const int8_t *query, const uint8_t *rows, ptrdiff_t row_stride, size_t count,
                                    size_t dimension, int32_t *out) {
    int32_t query_sum = 0;
    for (size_t j = 0; j < dimension / STEP * STEP; j++) query_sum += query[j];
    size_t i = 0;
    for (; i + ROWS_AT_ONCE <= count; i += ROWS_AT_ONCE)
        dot_block(query, query_sum, rows + (ptrdiff_t)i * row_stride, row_stride, dimension, out + i, ROWS_AT_ONCE);
    for (; i < count; i++)
        dot_block(query, query_sum, rows + (ptrdiff_t)i * row_stride, row_stride, dimension, out + i, 1);
}

// 16 rows times four queries in 16 registers; four more hold the rows, four codes of four rows in each.
enum { TILE_QUERIES = 4, TILE_VECTORS = 4 };

LK_INLINE void product_tile(const int8_t *queries, const uint8_t *packed, size_t quads, int32_t *out, size_t out_stride,
                            const int tile_queries) {
    int32x4_t sums[TILE_QUERIES][TILE_VECTORS];
#pragma clang loop unroll(full)
    for (int q = 0; q < tile_queries; q++) {
        int32_t sum = 0;
        for (size_t j = 0; j < quads * 4; j++) sum += queries[(size_t)q * quads * 4 + j];
#pragma clang loop unroll(full)
        for (int v = 0; v < TILE_VECTORS; v++) sums[q][v] = vdupq_n_s32(128 * sum);
    }
    for (size_t quad = 0; quad < quads; quad++) {
        int8x16_t rows[TILE_VECTORS];
#pragma clang loop unroll(full)
        for (int v = 0; v < TILE_VECTORS; v++) rows[v] = codes_at(packed + quad * 64 + v * 16);
#pragma clang loop unroll(full)
        for (int q = 0; q < tile_queries; q++) {
            int32_t four;
            memcpy(&four, queries + ((size_t)q * quads + quad) * 4, sizeof four);
            const int8x16_t query = vreinterpretq_s8_s32(vdupq_n_s32(four));
#pragma clang loop unroll(full)
            for (int v = 0; v < TILE_VECTORS; v++) sums[q][v] = vdotq_s32(sums[q][v], rows[v], query);
        }
    }
#pragma clang loop unroll(full)
    for (int q = 0; q < tile_queries; q++)
#pragma clang loop unroll(full)
        for (int v = 0; v < TILE_VECTORS; v++) vst1q_s32(out + (size_t)q * out_stride + 4 * v, sums[q][v]);
}

#include "product_tiles.h"

void KERNEL(quantized_products)(const int8_t *queries, size_t query_count, const uint8_t *packed, size_t groups,
                                size_t quads, int32_t *out) {
    products_in_tiles(queries, query_count, packed, groups, quads, out, TILE_QUERIES, product_tile);
}

#include "candidates.h"
