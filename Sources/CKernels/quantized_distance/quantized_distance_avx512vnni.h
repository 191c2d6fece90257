// Dot products of int8 rows with vpdpbusd, which adds the products of four components to a sum.

enum { ROWS_AT_ONCE = 16, STEP = 64 };

// The sums of sixteen vectors as one vector: pairs are interleaved and added, four times.
LK_INLINE __m512i sums_of(const __m512i v[16]) {
    __m512i a[8], b[4], c[2];
#pragma clang loop unroll(full)
    for (int i = 0; i < 8; i++)
        a[i] = _mm512_add_epi32(_mm512_unpacklo_epi32(v[2 * i], v[2 * i + 1]),
                                _mm512_unpackhi_epi32(v[2 * i], v[2 * i + 1]));
#pragma clang loop unroll(full)
    for (int i = 0; i < 4; i++)
        b[i] = _mm512_add_epi32(_mm512_unpacklo_epi64(a[2 * i], a[2 * i + 1]),
                                _mm512_unpackhi_epi64(a[2 * i], a[2 * i + 1]));
#pragma clang loop unroll(full)
    for (int i = 0; i < 2; i++)
        c[i] = _mm512_add_epi32(_mm512_shuffle_i32x4(b[2 * i], b[2 * i + 1], 0x88),
                                _mm512_shuffle_i32x4(b[2 * i], b[2 * i + 1], 0xDD));
    return _mm512_add_epi32(_mm512_shuffle_i32x4(c[0], c[1], 0x88), _mm512_shuffle_i32x4(c[0], c[1], 0xDD));
}

void KERNEL(quantized_dot_products)(const int8_t *query, const uint8_t *rows, ptrdiff_t row_stride, size_t count,
                                    size_t dimension, int32_t *out) {
    const size_t whole = dimension / STEP * STEP;
    const __mmask64 rest = (1ull << (dimension - whole)) - 1;
    const ptrdiff_t ahead = lk_scan_ahead();
    for (size_t i = 0; i < count; i += ROWS_AT_ONCE) {
        const int present = count - i < ROWS_AT_ONCE ? (int)(count - i) : ROWS_AT_ONCE;
        __m512i sums[ROWS_AT_ONCE];
        for (int r = 0; r < ROWS_AT_ONCE; r++) sums[r] = _mm512_setzero_si512();
        if (present == ROWS_AT_ONCE) {
            const uint8_t *first = rows + (ptrdiff_t)i * row_stride;
            // Rows by rows, as they lie in memory: the prefetchers follow one stream.
#pragma clang loop unroll(full)
            for (int r = 0; r < ROWS_AT_ONCE; r++) {
                const uint8_t *row = first + r * row_stride;
                if (ahead) lk_prefetch(row + ahead, dimension);
                __m512i even = _mm512_setzero_si512(), odd = _mm512_setzero_si512();
                size_t j = 0;
                for (; j + 2 * STEP <= whole; j += 2 * STEP) {
                    even = _mm512_dpbusd_epi32(even, _mm512_loadu_si512(row + j), _mm512_loadu_si512(query + j));
                    odd = _mm512_dpbusd_epi32(odd, _mm512_loadu_si512(row + j + STEP),
                                              _mm512_loadu_si512(query + j + STEP));
                }
                if (j < whole)
                    even = _mm512_dpbusd_epi32(even, _mm512_loadu_si512(row + j), _mm512_loadu_si512(query + j));
                if (rest)
                    odd = _mm512_dpbusd_epi32(odd, _mm512_maskz_loadu_epi8(rest, row + whole),
                                              _mm512_maskz_loadu_epi8(rest, query + whole));
                sums[r] = _mm512_add_epi32(even, odd);
            }
        } else {
            for (int r = 0; r < present; r++) {
                const uint8_t *row = rows + (ptrdiff_t)(i + (size_t)r) * row_stride;
                __m512i sum = _mm512_setzero_si512();
                for (size_t j = 0; j < whole; j += STEP)
                    sum = _mm512_dpbusd_epi32(sum, _mm512_loadu_si512(row + j), _mm512_loadu_si512(query + j));
                if (rest)
                    sum = _mm512_dpbusd_epi32(sum, _mm512_maskz_loadu_epi8(rest, row + whole),
                                              _mm512_maskz_loadu_epi8(rest, query + whole));
                sums[r] = sum;
            }
        }
        const __mmask16 written = (__mmask16)((1u << present) - 1);
        _mm512_mask_storeu_epi32(out + i, written, sums_of(sums));
    }
}

// 64 rows times six queries in 24 registers.
enum { TILE_GROUPS = 4, TILE_QUERIES = 6 };

LK_INLINE void product_tile(const int8_t *queries, const uint8_t *packed, size_t quads, int32_t *out, size_t out_stride,
                            const int tile_groups, const int tile_queries) {
    __m512i sums[TILE_QUERIES][TILE_GROUPS];
#pragma clang loop unroll(full)
    for (int q = 0; q < tile_queries; q++)
#pragma clang loop unroll(full)
        for (int g = 0; g < tile_groups; g++) sums[q][g] = _mm512_setzero_si512();
    for (size_t quad = 0; quad < quads; quad++) {
        __m512i rows[TILE_GROUPS];
#pragma clang loop unroll(full)
        for (int g = 0; g < tile_groups; g++) rows[g] = _mm512_loadu_si512(packed + ((size_t)g * quads + quad) * 64);
#pragma clang loop unroll(full)
        for (int q = 0; q < tile_queries; q++) {
            int32_t four;
            memcpy(&four, queries + ((size_t)q * quads + quad) * 4, sizeof four);
            __m512i query = _mm512_set1_epi32(four);
#pragma clang loop unroll(full)
            for (int g = 0; g < tile_groups; g++) sums[q][g] = _mm512_dpbusd_epi32(sums[q][g], rows[g], query);
        }
    }
#pragma clang loop unroll(full)
    for (int q = 0; q < tile_queries; q++)
#pragma clang loop unroll(full)
        for (int g = 0; g < tile_groups; g++)
            _mm512_storeu_si512(out + (size_t)q * out_stride + (size_t)g * 16, sums[q][g]);
}

void KERNEL(quantized_products)(const int8_t *queries, size_t query_count, const uint8_t *packed, size_t groups,
                                size_t quads, int32_t *out) {
    const size_t out_stride = groups * 16;
    for (size_t g = 0; g < groups; g += TILE_GROUPS) {
        const uint8_t *tile = packed + g * quads * 64;
        const bool whole = groups - g >= TILE_GROUPS;
        size_t q = 0;
        if (whole)
            for (; q + TILE_QUERIES <= query_count; q += TILE_QUERIES)
                product_tile(queries + q * quads * 4, tile, quads, out + q * out_stride + g * 16, out_stride,
                             TILE_GROUPS, TILE_QUERIES);
        for (; q < query_count; q++) {
            const int8_t *query = queries + q * quads * 4;
            int32_t *to = out + q * out_stride + g * 16;
            if (whole) product_tile(query, tile, quads, to, out_stride, TILE_GROUPS, 1);
            else
                for (size_t rest = 0; rest < groups - g; rest++)
                    product_tile(query, tile + rest * quads * 64, quads, to + rest * 16, out_stride, 1, 1);
        }
    }
}

#include "candidates.h"
