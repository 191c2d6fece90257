// The tiles of convolution_lanes.h in int8: four accumulators hold the 16 output channels of a pixel, and one
// instruction (sdot) adds the products of four input channels to four of them.
//
// sdot takes signed factors. 128 is subtracted from the input, and each sum starts with the amount subtracted: 128
// times the sum of its weights.

#include "quantized_result.h"

// 20 accumulators, five pixels and four vectors of weights: 29 of 32 registers.
enum { TILE_PIXELS = 5, VECTORS = LK_CHANNEL_BLOCK / 4, QUAD_BYTES = 4 * LK_CHANNEL_BLOCK };

LK_INLINE void missing_sums(const int8_t *weights, ptrdiff_t count, int32x4_t sums[VECTORS]) {
    for (int o = 0; o < VECTORS; o++) sums[o] = vdupq_n_s32(0);
    for (ptrdiff_t at = 0; at < count; at += QUAD_BYTES)
        for (int o = 0; o < VECTORS; o++) sums[o] = vdotq_s32(sums[o], vld1q_s8(weights + at + 16 * o), vdupq_n_s8(1));
    for (int o = 0; o < VECTORS; o++) sums[o] = vshlq_n_s32(sums[o], 7);
}

// The products of one of the four quads of input channels. A macro, since the lane has to be a constant.
// clang-format off
#define ADD_QUAD(quad)                                                                                                 \
    do {                                                                                                               \
        int8x16_t w[VECTORS];                                                                                          \
        _Pragma("clang loop unroll(full)")                                                                             \
        for (int o = 0; o < VECTORS; o++) w[o] = vld1q_s8(weights + (quad) * QUAD_BYTES + 16 * o);                     \
        _Pragma("clang loop unroll(full)")                                                                             \
        for (int p = 0; p < pixels; p++)                                                                               \
            _Pragma("clang loop unroll(full)")                                                                         \
            for (int o = 0; o < VECTORS; o++) sums[p][o] = vdotq_laneq_s32(sums[p][o], w[o], x[p], quad);              \
    } while (0)
// clang-format on

LK_INLINE void tile(const lk_quantized_convolution *c, const uint8_t *input, const int8_t *weights,
                    const int32x4_t missing[VECTORS], int32_t block, ptrdiff_t output_offset, const int pixels) {
    const ptrdiff_t step = c->pixel_step;
    int32x4_t sums[TILE_PIXELS][VECTORS];
#pragma clang loop unroll(full)
    for (int p = 0; p < pixels; p++)
#pragma clang loop unroll(full)
        for (int o = 0; o < VECTORS; o++) sums[p][o] = missing[o];
    for (int32_t input_block = 0; input_block < c->input_blocks; input_block++) {
        const uint8_t *plane = input + input_block * c->input_block_stride;
        for (int32_t ky = 0; ky < c->kernel_height; ky++)
            for (int32_t kx = 0; kx < c->kernel_width; kx++) {
                const uint8_t *taps = plane + ky * c->tap_row_stride + kx * c->tap_stride;
                int8x16_t x[TILE_PIXELS];
#pragma clang loop unroll(full)
                for (int p = 0; p < pixels; p++)
                    x[p] = vreinterpretq_s8_u8(veorq_u8(vld1q_u8(taps + p * step), vdupq_n_u8(0x80)));
                ADD_QUAD(0);
                ADD_QUAD(1);
                ADD_QUAD(2);
                ADD_QUAD(3);
                weights += VECTORS * QUAD_BYTES;
            }
    }
    lk_i32x16 results[TILE_PIXELS];
#pragma clang loop unroll(full)
    for (int p = 0; p < pixels; p++) memcpy(&results[p], sums[p], sizeof results[p]);
    lk_store_quantized_results(c, results, pixels, block, output_offset + block * c->output_block_stride);
}

void KERNEL(convolve_quantized)(const lk_quantized_convolution *c, int32_t block_begin, int32_t block_end,
                                int32_t row_begin, int32_t row_end) {
    const ptrdiff_t weight_count =
        (ptrdiff_t)c->input_blocks * c->kernel_height * c->kernel_width * VECTORS * QUAD_BYTES;
    for (int32_t block = block_begin; block < block_end; block++) {
        const int8_t *weights = c->weights + block * weight_count;
        int32x4_t missing[VECTORS];
        missing_sums(weights, weight_count, missing);
        for (int32_t row = row_begin; row < row_end; row++) {
            const uint8_t *line = c->input + row * c->row_step;
            for (int32_t x = 0; x < c->output_width; x += TILE_PIXELS) {
                const uint8_t *input = line + x * c->pixel_step;
                const ptrdiff_t at = row * c->output_row_stride + (ptrdiff_t)x * LK_CHANNEL_BLOCK;
                switch (c->output_width - x) {
                case 1: tile(c, input, weights, missing, block, at, 1); break;
                case 2: tile(c, input, weights, missing, block, at, 2); break;
                case 3: tile(c, input, weights, missing, block, at, 3); break;
                case 4: tile(c, input, weights, missing, block, at, 4); break;
                default: tile(c, input, weights, missing, block, at, TILE_PIXELS);
                }
            }
        }
    }
}

#undef ADD_QUAD
