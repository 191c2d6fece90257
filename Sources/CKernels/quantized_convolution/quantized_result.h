// The output of a pixel's sixteen channels from their sums: the same float32 operations on every SIMD target.

#ifndef LOOKALIKE_QUANTIZED_RESULT_H
#define LOOKALIKE_QUANTIZED_RESULT_H

#include "../kernel_tables.h"
#include "../vector.h"

// `count` pixels of a block side by side, from their sums.
LK_INLINE void lk_store_quantized_results(const lk_quantized_convolution *c, const lk_i32x16 *sums, int32_t count,
                                          int32_t block, ptrdiff_t at) {
    const lk_f32x16 scales = lk_load16(c->scales + block * LK_CHANNEL_BLOCK);
    const lk_f32x16 bias = lk_load16(c->bias + block * LK_CHANNEL_BLOCK);
    const lk_f32x16 residual_scale = lk_splat16(c->residual_scale);
    const uint8_t *quantized_residual = c->quantized_residual ? c->quantized_residual + at : NULL;
    const float *residual = c->residual ? c->residual + at : NULL;
    uint8_t *quantized_output = c->quantized_output ? c->quantized_output + at : NULL;
    float *output = c->output ? c->output + at : NULL;
    const bool relu = c->relu;
// Not unrolled: the unrolled stores of a large tile are slower, by a tenth in 1x1 convolutions of 64 channels.
#pragma clang loop unroll(disable)
    for (int32_t pixel = 0; pixel < count; pixel++) {
        const ptrdiff_t channel = (ptrdiff_t)pixel * LK_CHANNEL_BLOCK;
        lk_f32x16 value = __builtin_elementwise_fma(__builtin_convertvector(sums[pixel], lk_f32x16), scales, bias);
        if (quantized_residual) {
            const lk_i32x16 codes = lk_load16_u8(quantized_residual + channel);
            value = __builtin_elementwise_fma(__builtin_convertvector(codes, lk_f32x16), residual_scale, value);
        } else if (residual) {
            value = __builtin_elementwise_fma(lk_load16(residual + channel), residual_scale, value);
        }
        if (relu) value = __builtin_elementwise_max(value, lk_splat16(0));
        if (quantized_output) lk_store16_u8(quantized_output + channel, value);
        else lk_store16(output + channel, value);
    }
}

#endif
