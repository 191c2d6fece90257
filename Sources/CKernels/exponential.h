// Powers and logarithms of sixteen numbers at once.

#ifndef LOOKALIKE_EXPONENTIAL_H
#define LOOKALIKE_EXPONENTIAL_H

#include "vector.h"

// log2 of positive, normal numbers. x = 2^e m with m in [sqrt(1/2), sqrt(2)), and with s = (m - 1) / (m + 1)
// ln m = 2 (s + s^3 / 3 + s^5 / 5 + ...); |s| < 0.172, so the remainder is below 2^-27.
LK_INLINE lk_f32x16 lk_log2(lk_f32x16 x) {
    lk_i32x16 bits;
    memcpy(&bits, &x, sizeof bits);
    // 0x3F3504F3 is sqrt(1/2): what is above its fraction belongs to the next power of two.
    lk_i32x16 exponent = (bits - 0x3F3504F3) >> 23;
    lk_i32x16 fraction = bits - (exponent << 23);
    lk_f32x16 m;
    memcpy(&m, &fraction, sizeof m);
    const lk_f32x16 s = (m - 1) / (m + 1), q = s * s;
    const float log2e = 1.44269504f;
    lk_f32x16 series = lk_splat16(2 * log2e / 9);
    series = __builtin_elementwise_fma(series, q, lk_splat16(2 * log2e / 7));
    series = __builtin_elementwise_fma(series, q, lk_splat16(2 * log2e / 5));
    series = __builtin_elementwise_fma(series, q, lk_splat16(2 * log2e / 3));
    series = __builtin_elementwise_fma(series, q, lk_splat16(2 * log2e));
    return __builtin_elementwise_fma(series, s, __builtin_convertvector(exponent, lk_f32x16));
}

// 2^x in -126...127: 2^n 2^f with f in [-1/2, 1/2], Taylor's series of e^(f ln 2) to the seventh power, whose
// remainder is below 2^-27.
LK_INLINE lk_f32x16 lk_exp2_near(lk_f32x16 x) {
    const lk_f32x16 n = __builtin_elementwise_roundeven(x);
    const lk_f32x16 f = (x - n) * 0.693147181f;
    lk_f32x16 series = lk_splat16(1.0f / 5040);
    series = __builtin_elementwise_fma(series, f, lk_splat16(1.0f / 720));
    series = __builtin_elementwise_fma(series, f, lk_splat16(1.0f / 120));
    series = __builtin_elementwise_fma(series, f, lk_splat16(1.0f / 24));
    series = __builtin_elementwise_fma(series, f, lk_splat16(1.0f / 6));
    series = __builtin_elementwise_fma(series, f, lk_splat16(0.5f));
    series = __builtin_elementwise_fma(series, f, lk_splat16(1));
    series = __builtin_elementwise_fma(series, f, lk_splat16(1));
    lk_i32x16 power = (__builtin_convertvector(n, lk_i32x16) + 127) << 23;
    lk_f32x16 scale;
    memcpy(&scale, &power, sizeof scale);
    return series * scale;
}

// 2^x, clamped to normal numbers.
LK_INLINE lk_f32x16 lk_exp2(lk_f32x16 x) {
    return lk_exp2_near(__builtin_elementwise_min(__builtin_elementwise_max(x, lk_splat16(-126)), lk_splat16(127)));
}

#endif
