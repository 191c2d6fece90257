// Dot products of int8 rows with vpdpbusd, which adds the products of four components to a sum.

enum { ROWS_AT_ONCE = 8, STEP = 32 };

// The sums of eight vectors as one vector: neighboring lanes are added, three times.
LK_INLINE __m256i sums_of(const __m256i v[ROWS_AT_ONCE]) {
    __m256i a[4], b[2];
#pragma clang loop unroll(full)
    for (int i = 0; i < 4; i++) a[i] = _mm256_hadd_epi32(v[2 * i], v[2 * i + 1]);
#pragma clang loop unroll(full)
    for (int i = 0; i < 2; i++) b[i] = _mm256_hadd_epi32(a[2 * i], a[2 * i + 1]);
    return _mm256_add_epi32(_mm256_permute2x128_si256(b[0], b[1], 0x20), _mm256_permute2x128_si256(b[0], b[1], 0x31));
}

LK_INLINE __m256i dot_row(const int8_t *query, const uint8_t *row, size_t whole) {
    __m256i even = _mm256_setzero_si256(), odd = _mm256_setzero_si256();
    size_t j = 0;
    for (; j + 2 * STEP <= whole; j += 2 * STEP) {
        even = _mm256_dpbusd_avx_epi32(even, _mm256_loadu_si256((const __m256i *)(row + j)),
                                       _mm256_loadu_si256((const __m256i *)(query + j)));
        odd = _mm256_dpbusd_avx_epi32(odd, _mm256_loadu_si256((const __m256i *)(row + j + STEP)),
                                      _mm256_loadu_si256((const __m256i *)(query + j + STEP)));
    }
    if (j < whole)
        even = _mm256_dpbusd_avx_epi32(even, _mm256_loadu_si256((const __m256i *)(row + j)),
                                       _mm256_loadu_si256((const __m256i *)(query + j)));
    return _mm256_add_epi32(even, odd);
}

void KERNEL(quantized_dot_products)(const int8_t *query, const uint8_t *rows, ptrdiff_t row_stride, size_t count,
                                    size_t dimension, int32_t *out) {
    const size_t whole = dimension / STEP * STEP;
    const ptrdiff_t ahead = lk_scan_ahead();
    for (size_t i = 0; i < count; i += ROWS_AT_ONCE) {
        const size_t present = count - i < ROWS_AT_ONCE ? count - i : ROWS_AT_ONCE;
        const uint8_t *first = rows + (ptrdiff_t)i * row_stride;
        int32_t dots[ROWS_AT_ONCE];
        __m256i sums[ROWS_AT_ONCE];
        if (present == ROWS_AT_ONCE) {
            // Rows by rows, as they lie in memory: the prefetchers follow one stream.
#pragma clang loop unroll(full)
            for (int r = 0; r < ROWS_AT_ONCE; r++) {
                const uint8_t *row = first + r * row_stride;
                if (ahead) lk_prefetch(row + ahead, dimension);
                sums[r] = dot_row(query, row, whole);
            }
        } else {
            for (size_t r = 0; r < ROWS_AT_ONCE; r++)
                sums[r] =
                    r < present ? dot_row(query, first + (ptrdiff_t)r * row_stride, whole) : _mm256_setzero_si256();
        }
        _mm256_storeu_si256((__m256i *)dots, sums_of(sums));
        for (size_t r = 0; r < present && whole < dimension; r++)
            for (size_t j = whole; j < dimension; j++)
                dots[r] += query[j] * first[(ptrdiff_t)r * row_stride + (ptrdiff_t)j];
        memcpy(out + i, dots, present * sizeof *dots);
    }
}

#include "product_tile_avx.h"

#include "product_tiles.h"

void KERNEL(quantized_products)(const int8_t *queries, size_t query_count, const uint8_t *packed, size_t groups,
                                size_t quads, int32_t *out) {
    products_in_tiles(queries, query_count, packed, groups, quads, out, BYTE_QUERIES, byte_product_tile);
}

#include "candidates.h"
