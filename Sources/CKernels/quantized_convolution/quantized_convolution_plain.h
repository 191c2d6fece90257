// An int8 convolution of one pixel and one block at a time, left to the compiler's vectorizer.

#include "quantized_result.h"

void KERNEL(convolve_quantized)(const lk_quantized_convolution *c, int32_t block_begin, int32_t block_end,
                                int32_t row_begin, int32_t row_end) {
    const ptrdiff_t taps = (ptrdiff_t)c->kernel_height * c->kernel_width;
    for (int32_t block = block_begin; block < block_end; block++)
        for (int32_t row = row_begin; row < row_end; row++)
            for (int32_t x = 0; x < c->output_width; x++) {
                int32_t sums[LK_CHANNEL_BLOCK] = {0};
                const int8_t *w = c->weights + block * c->input_blocks * taps * LK_CHANNEL_BLOCK * LK_CHANNEL_BLOCK;
                for (int32_t input_block = 0; input_block < c->input_blocks; input_block++)
                    for (int32_t ky = 0; ky < c->kernel_height; ky++)
                        for (int32_t kx = 0; kx < c->kernel_width; kx++) {
                            const uint8_t *pixel = c->input + input_block * c->input_block_stride + row * c->row_step +
                                                   ky * c->tap_row_stride + x * c->pixel_step + kx * c->tap_stride;
                            for (int quad = 0; quad < LK_CHANNEL_BLOCK; quad += 4, w += 4 * LK_CHANNEL_BLOCK)
                                for (int o = 0; o < LK_CHANNEL_BLOCK; o++)
                                    for (int i = 0; i < 4; i++) sums[o] += pixel[quad + i] * w[o * 4 + i];
                        }
                lk_i32x16 all;
                memcpy(&all, sums, sizeof all);
                lk_store_quantized_results(c, &all, 1, block,
                                           block * c->output_block_stride + row * c->output_row_stride +
                                               (ptrdiff_t)x * LK_CHANNEL_BLOCK);
            }
}
