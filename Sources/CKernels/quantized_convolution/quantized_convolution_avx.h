// The tiles of convolution_lanes.h in int8: two accumulators hold the 16 output channels of a pixel. With VNNI one
// instruction (vpdpbusd) adds the products of four input channels to eight of them. Without, vpmaddubsw makes sums of
// two products in 16 bits, which fit since weight_packing.c bounds the weights, and vpmaddwd adds two of those.
//
// A tile takes the next pixels of the map, whatever rows they are in, so that narrow maps fill it, too.

#include "quantized_result.h"

// 12 accumulators, two vectors of weights and one of inputs: 15 of 16 registers.
enum { CODE_PIXELS = 6, CODE_VECTORS = 2, QUADS = LK_CHANNEL_BLOCK / 4, QUAD_BYTES = 4 * LK_CHANNEL_BLOCK };

LK_INLINE __m256i add_products(__m256i sum, __m256i x, __m256i w) {
#if defined(LK_AVXVNNI)
    return _mm256_dpbusd_avx_epi32(sum, x, w);
#else
    sum = _mm256_add_epi32(sum, _mm256_madd_epi16(_mm256_maddubs_epi16(x, w), _mm256_set1_epi16(1)));
    // Hidden from the compiler, which else adds products of several inputs first and runs out of registers.
    __asm__("" : "+x"(sum));
    return sum;
#endif
}

// Where the pixels of a tile are.
typedef struct {
    ptrdiff_t inputs[CODE_PIXELS];
    ptrdiff_t outputs[CODE_PIXELS];
} tile_pixels;

LK_INLINE void code_tile(const lk_quantized_convolution *c, const tile_pixels *at, const int8_t *weights, int32_t block,
                         const int pixels) {
    __m256i sums[CODE_PIXELS][CODE_VECTORS];
#pragma clang loop unroll(full)
    for (int p = 0; p < pixels; p++)
#pragma clang loop unroll(full)
        for (int v = 0; v < CODE_VECTORS; v++) sums[p][v] = _mm256_setzero_si256();
    for (int32_t input_block = 0; input_block < c->input_blocks; input_block++)
        for (int32_t ky = 0; ky < c->kernel_height; ky++)
            for (int32_t kx = 0; kx < c->kernel_width; kx++) {
                const uint8_t *tap =
                    c->input + input_block * c->input_block_stride + ky * c->tap_row_stride + kx * c->tap_stride;
                // Hidden from the compiler, which else keeps an address for each pixel and quad, most of them in
                // memory: 1.5 times as slow.
                __asm__("" : "+r"(tap));
#pragma clang loop unroll(full)
                for (int quad = 0; quad < QUADS; quad++) {
                    __m256i w[CODE_VECTORS];
#pragma clang loop unroll(full)
                    for (int v = 0; v < CODE_VECTORS; v++)
                        w[v] = _mm256_loadu_si256((const __m256i *)(weights + quad * QUAD_BYTES) + v);
#pragma clang loop unroll(full)
                    for (int p = 0; p < pixels; p++) {
                        int32_t four;
                        memcpy(&four, tap + at->inputs[p] + quad * 4, sizeof four);
                        const __m256i x = _mm256_set1_epi32(four);
#pragma clang loop unroll(full)
                        for (int v = 0; v < CODE_VECTORS; v++) sums[p][v] = add_products(sums[p][v], x, w[v]);
                    }
                }
                weights += QUADS * QUAD_BYTES;
            }
#pragma clang loop unroll(full)
    for (int p = 0; p < pixels; p++) {
        lk_i32x16 all;
        memcpy(&all, sums[p], sizeof all);
        lk_store_quantized_results(c, &all, 1, block, block * c->output_block_stride + at->outputs[p]);
    }
}

void KERNEL(convolve_quantized)(const lk_quantized_convolution *c, int32_t block_begin, int32_t block_end,
                                int32_t row_begin, int32_t row_end) {
    const ptrdiff_t weight_count = (ptrdiff_t)c->input_blocks * c->kernel_height * c->kernel_width * QUADS * QUAD_BYTES;
    const int64_t count = (int64_t)(row_end - row_begin) * c->output_width;
    const int64_t tiles = (count + CODE_PIXELS - 1) / CODE_PIXELS;
    for (int32_t block = block_begin; block < block_end; block++) {
        const int8_t *weights = c->weights + block * weight_count;
        int32_t row = row_begin, x = 0;
        for (int64_t index = 0; index < tiles; index++) {
            // Tiles of nearly the same size: with a single pixel, each instruction would wait for the one before.
            const int pixels = (int)((index + 1) * count / tiles - index * count / tiles);
            tile_pixels at;
            for (int p = 0; p < pixels; p++) {
                at.inputs[p] = row * c->row_step + x * c->pixel_step;
                at.outputs[p] = row * c->output_row_stride + (ptrdiff_t)x * LK_CHANNEL_BLOCK;
                if (++x == c->output_width) {
                    x = 0;
                    row++;
                }
            }
            switch (pixels) {
            case 1: code_tile(c, &at, weights, block, 1); break;
            case 2: code_tile(c, &at, weights, block, 2); break;
            case 3: code_tile(c, &at, weights, block, 3); break;
            case 4: code_tile(c, &at, weights, block, 4); break;
            case 5: code_tile(c, &at, weights, block, 5); break;
            default: code_tile(c, &at, weights, block, CODE_PIXELS);
            }
        }
    }
}
