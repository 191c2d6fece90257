// Dot products of a query with the signs in 1-bit codes, by tables in registers: André, Kermarrec and Le Scouarnec,
// "Quicker ADC: Unlocking the Hidden Potential of Product Quantization with SIMD", 2019.
//
// A column of a block has the signs of four components of 32 codes: byte j the bits of code j, low, and of code 16 + j,
// high. One instruction looks up 16 of them. Vectors of several columns have sums of the columns in their parts.

#if defined(LK_AVX512)
typedef __m512i lk_columns;
enum { COLUMNS = 4 };
#define LK_COLUMNS(name) _mm512_##name
#define LK_ZERO_COLUMNS _mm512_setzero_si512()
#define LK_LOAD_COLUMNS(p) _mm512_loadu_si512(p)
#define LK_AND_COLUMNS _mm512_and_si512

// The sum of the four columns, as 16-bit numbers.
LK_INLINE __m128i lk_fold(__m512i v) {
    const __m256i two = _mm256_add_epi16(_mm512_castsi512_si256(v), _mm512_extracti64x4_epi64(v, 1));
    return _mm_add_epi16(_mm256_castsi256_si128(two), _mm256_extracti128_si256(two, 1));
}
#elif defined(__x86_64__)
typedef __m256i lk_columns;
enum { COLUMNS = 2 };
#define LK_COLUMNS(name) _mm256_##name
#define LK_ZERO_COLUMNS _mm256_setzero_si256()
#define LK_LOAD_COLUMNS(p) _mm256_loadu_si256((const __m256i *)(p))
#define LK_AND_COLUMNS _mm256_and_si256

LK_INLINE __m128i lk_fold(__m256i v) {
    return _mm_add_epi16(_mm256_castsi256_si128(v), _mm256_extracti128_si256(v, 1));
}
#endif

LK_INLINE void lk_sum_columns(const uint8_t *tables, const uint8_t *codes, size_t columns,
                              uint16_t sums[LK_BINARY_BLOCK]) {
#if defined(__x86_64__)
    // Sums of bytes in 16 bits: both bytes of a pair at once, modulo 65,536, and the upper one alone, which is then
    // subtracted from the former.
    lk_columns low = LK_ZERO_COLUMNS, low_odd = low, high = low, high_odd = low;
    const lk_columns mask = LK_COLUMNS(set1_epi8)(15);
    for (size_t column = 0; column < columns; column += COLUMNS) {
        const lk_columns table = LK_LOAD_COLUMNS(tables + column * 16), bits = LK_LOAD_COLUMNS(codes + column * 16);
        const lk_columns a = LK_COLUMNS(shuffle_epi8)(table, LK_AND_COLUMNS(bits, mask));
        const lk_columns b = LK_COLUMNS(shuffle_epi8)(table, LK_AND_COLUMNS(LK_COLUMNS(srli_epi16)(bits, 4), mask));
        low = LK_COLUMNS(add_epi16)(low, a);
        low_odd = LK_COLUMNS(add_epi16)(low_odd, LK_COLUMNS(srli_epi16)(a, 8));
        high = LK_COLUMNS(add_epi16)(high, b);
        high_odd = LK_COLUMNS(add_epi16)(high_odd, LK_COLUMNS(srli_epi16)(b, 8));
    }
    for (int half = 0; half < 2; half++) {
        const __m128i both = lk_fold(half ? high : low), odd = lk_fold(half ? high_odd : low_odd);
        const __m128i even = _mm_sub_epi16(both, _mm_slli_epi16(odd, 8));
        _mm_storeu_si128((__m128i *)(sums + half * 16), _mm_unpacklo_epi16(even, odd));
        _mm_storeu_si128((__m128i *)(sums + half * 16 + 8), _mm_unpackhi_epi16(even, odd));
    }
#else
    uint16x8_t parts[4] = {vdupq_n_u16(0), vdupq_n_u16(0), vdupq_n_u16(0), vdupq_n_u16(0)};
    for (size_t column = 0; column < columns; column++) {
        const uint8x16_t table = vld1q_u8(tables + column * 16), bits = vld1q_u8(codes + column * 16);
        const uint8x16_t a = vqtbl1q_u8(table, vandq_u8(bits, vdupq_n_u8(15)));
        const uint8x16_t b = vqtbl1q_u8(table, vshrq_n_u8(bits, 4));
        parts[0] = vaddw_u8(parts[0], vget_low_u8(a));
        parts[1] = vaddw_u8(parts[1], vget_high_u8(a));
        parts[2] = vaddw_u8(parts[2], vget_low_u8(b));
        parts[3] = vaddw_u8(parts[3], vget_high_u8(b));
    }
    for (int part = 0; part < 4; part++) vst1q_u16(sums + part * 8, parts[part]);
#endif
}

#include "binary_selection.h"
