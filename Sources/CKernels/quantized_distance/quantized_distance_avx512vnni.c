#if defined(__x86_64__)
#include <immintrin.h>
#include <string.h>

#include "../kernel_tables.h"
#include "../target_avx512vnni.h"

enum { ROWS_AT_ONCE = 16, STEP = 64 };

// The sums of sixteen vectors as one vector: pairs are interleaved and added, four times.
static inline __attribute__((always_inline)) __m512i sums_of(const __m512i v[16]) {
    __m512i a[8], b[4], c[2];
#pragma clang loop unroll(full)
    for (int i = 0; i < 8; i++)
        a[i] = _mm512_add_epi32(_mm512_unpacklo_epi32(v[2 * i], v[2 * i + 1]), _mm512_unpackhi_epi32(v[2 * i], v[2 * i + 1]));
#pragma clang loop unroll(full)
    for (int i = 0; i < 4; i++)
        b[i] = _mm512_add_epi32(_mm512_unpacklo_epi64(a[2 * i], a[2 * i + 1]), _mm512_unpackhi_epi64(a[2 * i], a[2 * i + 1]));
#pragma clang loop unroll(full)
    for (int i = 0; i < 2; i++)
        c[i] = _mm512_add_epi32(_mm512_shuffle_i32x4(b[2 * i], b[2 * i + 1], 0x88), _mm512_shuffle_i32x4(b[2 * i], b[2 * i + 1], 0xDD));
    return _mm512_add_epi32(_mm512_shuffle_i32x4(c[0], c[1], 0x88), _mm512_shuffle_i32x4(c[0], c[1], 0xDD));
}

void lk_quantized_dot_products_avx512vnni(const int8_t *query, const uint8_t *rows, ptrdiff_t row_stride,
                                          size_t count, size_t dimension, int32_t *out) {
    const size_t whole = dimension / STEP * STEP;
    const __mmask64 rest = (1ull << (dimension - whole)) - 1;
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
                __m512i even = _mm512_setzero_si512(), odd = _mm512_setzero_si512();
                size_t j = 0;
                for (; j + 2 * STEP <= whole; j += 2 * STEP) {
                    even = _mm512_dpbusd_epi32(even, _mm512_loadu_si512(row + j), _mm512_loadu_si512(query + j));
                    odd = _mm512_dpbusd_epi32(odd, _mm512_loadu_si512(row + j + STEP), _mm512_loadu_si512(query + j + STEP));
                }
                if (j < whole) even = _mm512_dpbusd_epi32(even, _mm512_loadu_si512(row + j), _mm512_loadu_si512(query + j));
                if (rest) odd = _mm512_dpbusd_epi32(odd, _mm512_maskz_loadu_epi8(rest, row + whole), _mm512_maskz_loadu_epi8(rest, query + whole));
                sums[r] = _mm512_add_epi32(even, odd);
            }
        } else {
            for (int r = 0; r < present; r++) {
                const uint8_t *row = rows + (ptrdiff_t)(i + (size_t)r) * row_stride;
                __m512i sum = _mm512_setzero_si512();
                for (size_t j = 0; j < whole; j += STEP)
                    sum = _mm512_dpbusd_epi32(sum, _mm512_loadu_si512(row + j), _mm512_loadu_si512(query + j));
                if (rest) sum = _mm512_dpbusd_epi32(sum, _mm512_maskz_loadu_epi8(rest, row + whole), _mm512_maskz_loadu_epi8(rest, query + whole));
                sums[r] = sum;
            }
        }
        const __mmask16 written = (__mmask16)((1u << present) - 1);
        _mm512_mask_storeu_epi32(out + i, written, sums_of(sums));
    }
}

#pragma clang attribute pop
#endif
