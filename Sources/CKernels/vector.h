// Sixteen floats as one value. Clang maps it to one AVX-512, two AVX2 or four NEON registers, so
// that a kernel is written once and its targets differ in their tiles alone.
//
// The file of a SIMD target defines LK_AVX512 before it includes this if the target has those instructions.

#ifndef LOOKALIKE_VECTOR_H
#define LOOKALIKE_VECTOR_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

// Every function that takes or returns a vector here is inlined, so no ABI is at stake.
#pragma clang diagnostic ignored "-Wpsabi"

#define LK_INLINE static inline __attribute__((always_inline))

// How many bytes ahead a scan of rows prefetches; measured. Zen 4 scans float32 rows in 0.84 and int8 rows in 0.91 of
// the time by its own prefetchers alone.
LK_INLINE ptrdiff_t lk_scan_ahead(void) {
#if defined(__x86_64__)
    // By its name older run-time libraries do not know it.
    if (__builtin_cpu_is("amdfam19h") && __builtin_cpu_supports("avx512f")) return 0;
#endif
    return 4096;
}

typedef float lk_f32x16 __attribute__((vector_size(64)));
typedef _Float16 lk_f16x16 __attribute__((vector_size(32)));
typedef float lk_f32x8 __attribute__((vector_size(32)));
typedef float lk_f32x4 __attribute__((vector_size(16)));

LK_INLINE lk_f32x16 lk_load16(const float *p) {
    lk_f32x16 v;
    memcpy(&v, p, sizeof v);
    return v;
}

LK_INLINE lk_f32x16 lk_load16_partial(const float *p, size_t count) {
    float padded[16] = {0};
    memcpy(padded, p, count * sizeof(float));
    return lk_load16(padded);
}

LK_INLINE void lk_store16(float *p, lk_f32x16 v) { memcpy(p, &v, sizeof v); }

LK_INLINE lk_f32x16 lk_splat16(float x) { return (lk_f32x16){x, x, x, x, x, x, x, x, x, x, x, x, x, x, x, x}; }

// Rounded to nearest, even on a tie, and clamped to 0...255; NaN is 0.
LK_INLINE uint8_t lk_u8(float x) {
    x = x > 0 ? x : 0;
    x = x < 255 ? x : 255;
    return (uint8_t)__builtin_roundevenf(x);
}

typedef int32_t lk_i32x16 __attribute__((vector_size(64)));
typedef _Bool lk_boolx16 __attribute__((ext_vector_type(16)));

// A bit per lane that is true.
LK_INLINE uint16_t lk_lanes(lk_i32x16 are_true) {
    const lk_boolx16 bits = __builtin_convertvector(are_true, lk_boolx16);
    uint16_t lanes;
    memcpy(&lanes, &bits, sizeof lanes);
    return lanes;
}
typedef uint8_t lk_u8x16 __attribute__((vector_size(16)));
typedef uint8_t lk_u8x64 __attribute__((vector_size(64)));

LK_INLINE lk_i32x16 lk_load16_u8(const uint8_t *p) {
    lk_u8x16 bytes;
    memcpy(&bytes, p, sizeof bytes);
    return __builtin_convertvector(bytes, lk_i32x16);
}

LK_INLINE void lk_store16_u8(uint8_t *p, lk_f32x16 v) {
#if defined(LK_AVX512)
    // NaN becomes 0. What is too large for an integer becomes 2^31, which saturates as well.
    const __m512 positive = _mm512_max_ps((__m512)v, _mm512_setzero_ps());
    const __m512i codes = _mm512_cvt_roundps_epi32(positive, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
    _mm_storeu_si128((__m128i *)p, _mm512_cvtusepi32_epi8(codes));
#else
    v = __builtin_elementwise_min(__builtin_elementwise_max(v, lk_splat16(0)), lk_splat16(255));
    lk_u8x16 bytes =
        __builtin_convertvector(__builtin_convertvector(__builtin_elementwise_roundeven(v), lk_i32x16), lk_u8x16);
    memcpy(p, &bytes, sizeof bytes);
#endif
}

// `yes` in the lanes whose bits are set, `no` in the others.
LK_INLINE lk_f32x16 lk_choose(lk_i32x16 mask, lk_f32x16 yes, lk_f32x16 no) {
    return (lk_f32x16)((mask & (lk_i32x16)yes) | (~mask & (lk_i32x16)no));
}

// One instruction on x86, where __builtin_elementwise_max takes three unless one side is a constant: that gives the
// other number for NaN, and these need not.
LK_INLINE lk_f32x16 lk_max16(lk_f32x16 a, lk_f32x16 b) { return lk_choose(a > b, a, b); }
LK_INLINE lk_f32x16 lk_min16(lk_f32x16 a, lk_f32x16 b) { return lk_choose(a < b, a, b); }

// 1 / x for normal numbers whose reciprocals are normal; off by at most two units in the last place.
LK_INLINE lk_f32x16 lk_reciprocal(lk_f32x16 x) {
#if defined(LK_AVX512)
    // 14 bits, and a step of Newton's method, where a division would take five times as long.
    const lk_f32x16 near = (lk_f32x16)_mm512_rcp14_ps((__m512)x);
    return __builtin_elementwise_fma(near, __builtin_elementwise_fma(-x, near, lk_splat16(1)), near);
#else
    return 1 / x;
#endif
}

// The root of zero or a normal number; off by at most two units in the last place.
LK_INLINE lk_f32x16 lk_square_root(lk_f32x16 x) {
#if defined(LK_AVX512)
    // As above, where the instruction takes three times as long.
    const lk_f32x16 near = (lk_f32x16)_mm512_rsqrt14_ps((__m512)lk_max16(x, lk_splat16(0x1p-126f)));
    const lk_f32x16 root = x * near;
    return __builtin_elementwise_fma(__builtin_elementwise_fma(-root, root, x), near * 0.5f, root);
#else
    return __builtin_elementwise_sqrt(x);
#endif
}

// The elements, of which those that are `distance` apart have changed places: 1, 2, 4 or 8.
LK_INLINE lk_f32x16 lk_exchanged(lk_f32x16 v, const int distance) {
    switch (distance) {
    case 1: return __builtin_shufflevector(v, v, 1, 0, 3, 2, 5, 4, 7, 6, 9, 8, 11, 10, 13, 12, 15, 14);
    case 2: return __builtin_shufflevector(v, v, 2, 3, 0, 1, 6, 7, 4, 5, 10, 11, 8, 9, 14, 15, 12, 13);
    case 4: return __builtin_shufflevector(v, v, 4, 5, 6, 7, 0, 1, 2, 3, 12, 13, 14, 15, 8, 9, 10, 11);
    default: return __builtin_shufflevector(v, v, 8, 9, 10, 11, 12, 13, 14, 15, 0, 1, 2, 3, 4, 5, 6, 7);
    }
}

// The largest element; none may be NaN.
LK_INLINE float lk_largest16(lk_f32x16 v) {
    v = lk_max16(v, lk_exchanged(v, 8));
    v = lk_max16(v, lk_exchanged(v, 4));
    v = lk_max16(v, lk_exchanged(v, 2));
    return lk_max16(v, lk_exchanged(v, 1))[0];
}

// Halves are added until one is left: the order that every SIMD target keeps.
LK_INLINE float lk_sum16(lk_f32x16 v) {
    lk_f32x8 a = __builtin_shufflevector(v, v, 0, 1, 2, 3, 4, 5, 6, 7) +
                 __builtin_shufflevector(v, v, 8, 9, 10, 11, 12, 13, 14, 15);
    lk_f32x4 b = __builtin_shufflevector(a, a, 0, 1, 2, 3) + __builtin_shufflevector(a, a, 4, 5, 6, 7);
    return (b[0] + b[2]) + (b[1] + b[3]);
}

#endif
