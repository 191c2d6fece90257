// Powers of sixteen channels at once, x^p = 2^(p log2 x).

#include "../exponential.h"

void KERNEL(generalized_mean)(const float *pixels, ptrdiff_t row_stride, int32_t width, int32_t height, float power,
                              float epsilon, float *out) {
    lk_f32x16 sum = lk_splat16(0);
    for (int32_t y = 0; y < height; y++)
        for (int32_t x = 0; x < width; x++) {
            lk_f32x16 value = __builtin_elementwise_max(lk_load16(pixels + y * row_stride + x * LK_CHANNEL_BLOCK),
                                                        lk_splat16(epsilon));
            sum += lk_exp2(lk_log2(value) * power);
        }
    lk_store16(out, lk_exp2(lk_log2(sum / (float)(width * height)) / power));
}
