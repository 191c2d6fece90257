// Dot products of int8 rows with vpmaddwd, which adds two products of 16-bit factors.
//
// Both factors are widened to 16 bits, since vpmaddubsw saturates: two products of 255 and 127 do not fit 16 bits.
// vpmaddwd then adds pairs of exact products. Batches of queries whose codes are small enough need no widening.

enum { STEP = 16, ROWS_AT_ONCE = 4 };

LK_INLINE __m256i codes_at(const uint8_t *row) { return _mm256_cvtepu8_epi16(_mm_loadu_si128((const __m128i *)row)); }

LK_INLINE int32_t sum_of(__m256i v) {
    const __m128i four = _mm_add_epi32(_mm256_castsi256_si128(v), _mm256_extracti128_si256(v, 1));
    const __m128i two = _mm_add_epi32(four, _mm_shuffle_epi32(four, 0x4E));
    return _mm_cvtsi128_si32(_mm_add_epi32(two, _mm_shuffle_epi32(two, 0xB1)));
}

// A query's vector is widened once for all rows of a block.
LK_INLINE void dot_block(const int8_t *query, const uint8_t *rows, ptrdiff_t row_stride, size_t dimension, int32_t *out,
                         const int count) {
    __m256i sums[ROWS_AT_ONCE];
    const size_t whole = dimension / STEP * STEP;
#pragma clang loop unroll(full)
    for (int r = 0; r < count; r++) sums[r] = _mm256_setzero_si256();
    for (size_t j = 0; j < whole; j += STEP) {
        const __m256i part = _mm256_cvtepi8_epi16(_mm_loadu_si128((const __m128i *)(query + j)));
#pragma clang loop unroll(full)
        for (int r = 0; r < count; r++)
            sums[r] = _mm256_add_epi32(sums[r], _mm256_madd_epi16(part, codes_at(rows + r * row_stride + j)));
    }
#pragma clang loop unroll(full)
    for (int r = 0; r < count; r++) {
        int32_t sum = sum_of(sums[r]);
        for (size_t j = whole; j < dimension; j++) sum += query[j] * rows[r * row_stride + (ptrdiff_t)j];
        out[r] = sum;
    }
}

void KERNEL(quantized_dot_products)(const int8_t *query, const uint8_t *rows, ptrdiff_t row_stride, size_t count,
                                    size_t dimension, int32_t *out) {
    const ptrdiff_t ahead = lk_scan_ahead();
    size_t i = 0;
    for (; i + ROWS_AT_ONCE <= count; i += ROWS_AT_ONCE) {
        const uint8_t *block = rows + (ptrdiff_t)i * row_stride;
        if (ahead) lk_prefetch(block + ahead, ROWS_AT_ONCE * dimension);
        dot_block(query, block, row_stride, dimension, out + i, ROWS_AT_ONCE);
    }
    for (; i < count; i++) dot_block(query, rows + (ptrdiff_t)i * row_stride, row_stride, dimension, out + i, 1);
}

// 16 rows times three queries in 12 registers; four more hold the rows, four codes of four rows in each.
enum { TILE_QUERIES = 3, TILE_VECTORS = 4 };

// The sums of pairs of lanes of four vectors, in order: each row's sum is in two lanes.
LK_INLINE void store_sums(const __m256i v[TILE_VECTORS], int32_t *out) {
#pragma clang loop unroll(full)
    for (int i = 0; i < TILE_VECTORS; i += 2) {
        const __m256i sums = _mm256_hadd_epi32(v[i], v[i + 1]);
        _mm256_storeu_si256((__m256i *)(out + 4 * i), _mm256_permute4x64_epi64(sums, 0xD8));
    }
}

LK_INLINE void product_tile(const int8_t *queries, const uint8_t *packed, size_t quads, int32_t *out, size_t out_stride,
                            const int tile_queries) {
    __m256i sums[TILE_QUERIES][TILE_VECTORS];
#pragma clang loop unroll(full)
    for (int q = 0; q < tile_queries; q++)
#pragma clang loop unroll(full)
        for (int v = 0; v < TILE_VECTORS; v++) sums[q][v] = _mm256_setzero_si256();
    for (size_t quad = 0; quad < quads; quad++) {
        __m256i rows[TILE_VECTORS];
#pragma clang loop unroll(full)
        for (int v = 0; v < TILE_VECTORS; v++) rows[v] = codes_at(packed + quad * 64 + v * 16);
#pragma clang loop unroll(full)
        for (int q = 0; q < tile_queries; q++) {
            int32_t four;
            memcpy(&four, queries + ((size_t)q * quads + quad) * 4, sizeof four);
            const __m256i query = _mm256_broadcastq_epi64(_mm_cvtepi8_epi16(_mm_cvtsi32_si128(four)));
#pragma clang loop unroll(full)
            for (int v = 0; v < TILE_VECTORS; v++)
                sums[q][v] = _mm256_add_epi32(sums[q][v], _mm256_madd_epi16(query, rows[v]));
        }
    }
#pragma clang loop unroll(full)
    for (int q = 0; q < tile_queries; q++) store_sums(sums[q], out + (size_t)q * out_stride);
}

#include "product_tile_avx.h"
#include "product_tiles.h"

void KERNEL(quantized_products)(const int8_t *queries, size_t query_count, const uint8_t *packed, size_t groups,
                                size_t quads, int32_t *out) {
    bool fits = true;
    for (size_t i = 0; i < query_count * quads * 4; i += 2) {
        const int sum = queries[i] + queries[i + 1];
        fits &= -128 <= sum && sum <= 128;
    }
    if (fits) products_in_tiles(queries, query_count, packed, groups, quads, out, BYTE_QUERIES, byte_product_tile);
    else products_in_tiles(queries, query_count, packed, groups, quads, out, TILE_QUERIES, product_tile);
}

#include "candidates.h"
