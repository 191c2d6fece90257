// Powers of sixteen channels at once, x^p = 2^(p log2 x); the including file defines GENERALIZED_MEAN and
// sets the target.

#include "../vector.h"

// log2 of positive, normal numbers. x = 2^e m with m in [sqrt(1/2), sqrt(2)), and with s = (m - 1) / (m + 1)
// ln m = 2 (s + s^3 / 3 + s^5 / 5 + ...); |s| < 0.172, so the remainder is below 2^-27.
LK_INLINE lk_f32x16 log2_of(lk_f32x16 x) {
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

// 2^x, clamped to normal numbers: 2^n 2^f with f in [-1/2, 1/2], Taylor's series of e^(f ln 2) to the seventh
// power, whose remainder is below 2^-27.
LK_INLINE lk_f32x16 exp2_of(lk_f32x16 x) {
    x = __builtin_elementwise_min(__builtin_elementwise_max(x, lk_splat16(-126)), lk_splat16(127));
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

void GENERALIZED_MEAN(const float *pixels, ptrdiff_t row_stride, int32_t width, int32_t height, float power,
                      float epsilon, float *out) {
    lk_f32x16 sum = lk_splat16(0);
    for (int32_t y = 0; y < height; y++)
        for (int32_t x = 0; x < width; x++) {
            lk_f32x16 value = __builtin_elementwise_max(lk_load16(pixels + y * row_stride + x * LK_CHANNEL_BLOCK),
                                                        lk_splat16(epsilon));
            sum += exp2_of(log2_of(value) * power);
        }
    lk_store16(out, exp2_of(log2_of(sum / (float)(width * height)) / power));
}
