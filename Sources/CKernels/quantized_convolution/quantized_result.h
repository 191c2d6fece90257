// The output of a pixel's sixteen channels from their sums: the same float32 operations on every SIMD target.

#ifndef LOOKALIKE_QUANTIZED_RESULT_H
#define LOOKALIKE_QUANTIZED_RESULT_H

#include "../kernel_tables.h"
#include "../vector.h"

LK_INLINE void lk_store_quantized_result(const lk_quantized_convolution *c, lk_i32x16 sums, int32_t block,
                                         ptrdiff_t at) {
    lk_f32x16 value = __builtin_elementwise_fma(__builtin_convertvector(sums, lk_f32x16),
                                                lk_load16(c->scales + block * LK_CHANNEL_BLOCK),
                                                lk_load16(c->bias + block * LK_CHANNEL_BLOCK));
    if (c->quantized_residual) {
        lk_u8x16 bytes;
        memcpy(&bytes, c->quantized_residual + at, sizeof bytes);
        value = __builtin_elementwise_fma(__builtin_convertvector(__builtin_convertvector(bytes, lk_i32x16), lk_f32x16),
                                          lk_splat16(c->residual_scale), value);
    } else if (c->residual) {
        value = __builtin_elementwise_fma(lk_load16(c->residual + at), lk_splat16(c->residual_scale), value);
    }
    if (c->relu) value = __builtin_elementwise_max(value, lk_splat16(0));
    if (c->quantized_output) lk_store16_u8(c->quantized_output + at, value);
    else lk_store16(c->output + at, value);
}

#endif
