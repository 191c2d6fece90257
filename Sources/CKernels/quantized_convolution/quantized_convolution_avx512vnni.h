// The tiles of convolution_lanes.h in int8: an accumulator holds 16 output channels of a pixel, and
// one instruction (vpdpbusd) adds the products of four input channels to each.

#include "quantized_result.h"

enum {
    TILE_PIXELS = 14,
    TILE_BLOCKS = 2,
    NARROW_PIXELS = TILE_PIXELS * TILE_BLOCKS,
    QUADS = LK_CHANNEL_BLOCK / 4,
    QUAD_BYTES = 4 * LK_CHANNEL_BLOCK
};

LK_INLINE void tile(const lk_quantized_convolution *c, const uint8_t *input, const int8_t *weights,
                    ptrdiff_t weight_block_stride, int32_t block, ptrdiff_t output_offset, const int rows,
                    const int columns, const int blocks, const ptrdiff_t step, const int8_t *next) {
    __m512i sums[TILE_BLOCKS][NARROW_PIXELS];
    const ptrdiff_t row_step = c->row_step;
#pragma clang loop unroll(full)
    for (int b = 0; b < blocks; b++)
#pragma clang loop unroll(full)
        for (int p = 0; p < rows * columns; p++) sums[b][p] = _mm512_setzero_si512();
    for (int32_t input_block = 0; input_block < c->input_blocks; input_block++) {
        const uint8_t *plane = input + input_block * c->input_block_stride;
        // A quarter of the next weights: a matrix product has up to four tiles for each.
        if (next) lk_prefetch(next + input_block * (QUADS * QUAD_BYTES / 2), QUADS * QUAD_BYTES / 2);
        const int quads = c->last_block_is_half && input_block == c->input_blocks - 1 ? QUADS / 2 : QUADS;
        for (int32_t ky = 0; ky < c->kernel_height; ky++) {
            for (int32_t kx = 0; kx < c->kernel_width; kx++) {
                const uint8_t *taps = plane + ky * c->tap_row_stride + kx * c->tap_stride;
#pragma clang loop unroll_count(2)
                for (int quad = 0; quad < quads; quad++) {
                    __m512i w[TILE_BLOCKS];
#pragma clang loop unroll(full)
                    for (int b = 0; b < blocks; b++) w[b] = _mm512_loadu_si512(weights + b * weight_block_stride);
#pragma clang loop unroll(full)
                    for (int p = 0; p < rows * columns; p++) {
                        int32_t four;
                        memcpy(&four, taps + p / columns * row_step + p % columns * step + quad * 4, sizeof four);
                        __m512i x = _mm512_set1_epi32(four);
#pragma clang loop unroll(full)
                        for (int b = 0; b < blocks; b++) sums[b][p] = _mm512_dpbusd_epi32(sums[b][p], x, w[b]);
                    }
                    weights += QUAD_BYTES;
                }
                weights += (QUADS - quads) * QUAD_BYTES;
            }
        }
    }
    // The sums of a matrix product, which may be short, are written from where they are.
    const bool is_plain = c->output && !c->residual && !c->quantized_residual && !c->relu;
    if (rows == 1 && step == LK_CHANNEL_BLOCK && is_plain) {
#pragma clang loop unroll(full)
        for (int b = 0; b < blocks; b++) {
            float *output = c->output + output_offset + (block + b) * c->output_block_stride;
            const lk_f32x16 scales = lk_load16(c->scales + (block + b) * LK_CHANNEL_BLOCK);
            const lk_f32x16 bias = lk_load16(c->bias + (block + b) * LK_CHANNEL_BLOCK);
#pragma clang loop unroll(full)
            for (int p = 0; p < columns; p++)
                lk_store16(
                    output + p * LK_CHANNEL_BLOCK,
                    __builtin_elementwise_fma(__builtin_convertvector((lk_i32x16)sums[b][p], lk_f32x16), scales, bias));
        }
        return;
    }
    lk_i32x16 results[NARROW_PIXELS];
#pragma clang loop unroll(full)
    for (int b = 0; b < blocks; b++)
#pragma clang loop unroll(full)
        for (int p = 0; p < rows * columns; p++) results[b * rows * columns + p] = (lk_i32x16)sums[b][p];
    for (int b = 0; b < blocks; b++)
        for (int row = 0; row < rows; row++)
            lk_store_quantized_results(c, results + (b * rows + row) * columns, columns, block + b,
                                       output_offset + (block + b) * c->output_block_stride +
                                           row * c->output_row_stride);
}

typedef void (*tile_function)(const lk_quantized_convolution *, const uint8_t *, const int8_t *, ptrdiff_t, int32_t,
                              ptrdiff_t, const int8_t *);

#define DEFINE_TILE(p, b, s)                                                                                           \
    static void tile_##p##_##b##_##s(const lk_quantized_convolution *c, const uint8_t *input, const int8_t *weights,   \
                                     ptrdiff_t weight_block_stride, int32_t block, ptrdiff_t output_offset,            \
                                     const int8_t *next) {                                                             \
        tile(c, input, weights, weight_block_stride, block, output_offset, 1, p, b,                                    \
             s == 0 ? c->pixel_step : LK_CHANNEL_BLOCK * s, next);                                                     \
    }
// Strides of 1 and 2 are known to the compiler; 0 stands for any other.
#define DEFINE_WIDTH(p)                                                                                                \
    DEFINE_TILE(p, 1, 0)                                                                                               \
    DEFINE_TILE(p, 1, 1)                                                                                               \
    DEFINE_TILE(p, 1, 2)                                                                                               \
    DEFINE_TILE(p, 2, 0)                                                                                               \
    DEFINE_TILE(p, 2, 1)                                                                                               \
    DEFINE_TILE(p, 2, 2)
#define WIDTH(p) {{tile_##p##_1_0, tile_##p##_1_1, tile_##p##_1_2}, {tile_##p##_2_0, tile_##p##_2_1, tile_##p##_2_2}},
#define TILE_WIDTHS(W) W(1) W(2) W(3) W(4) W(5) W(6) W(7) W(8) W(9) W(10) W(11) W(12) W(13) W(14)

TILE_WIDTHS(DEFINE_WIDTH)

// [pixels - 1][blocks - 1][stride]
static const tile_function tiles[TILE_PIXELS][TILE_BLOCKS][3] = {TILE_WIDTHS(WIDTH)};

#define DEFINE_NARROW(r, w, s)                                                                                         \
    static void narrow_##r##_##w##_##s(const lk_quantized_convolution *c, const uint8_t *input, const int8_t *weights, \
                                       ptrdiff_t weight_block_stride, int32_t block, ptrdiff_t output_offset,          \
                                       const int8_t *next) {                                                           \
        tile(c, input, weights, weight_block_stride, block, output_offset, r, w, 1, LK_CHANNEL_BLOCK *s, next);        \
    }
#define DEFINE_NARROW_STRIDES(r, w)                                                                                    \
    DEFINE_NARROW(r, w, 1)                                                                                             \
    DEFINE_NARROW(r, w, 2)
#define NARROW_STRIDES(r, w)                                                                                           \
    { narrow_##r##_##w##_1, narrow_##r##_##w##_2 }

DEFINE_NARROW_STRIDES(2, 4)
DEFINE_NARROW_STRIDES(3, 4)
DEFINE_NARROW_STRIDES(4, 4)
DEFINE_NARROW_STRIDES(5, 4)
DEFINE_NARROW_STRIDES(6, 4)
DEFINE_NARROW_STRIDES(7, 4)
DEFINE_NARROW_STRIDES(2, 5)
DEFINE_NARROW_STRIDES(3, 5)
DEFINE_NARROW_STRIDES(4, 5)
DEFINE_NARROW_STRIDES(5, 5)
DEFINE_NARROW_STRIDES(2, 6)
DEFINE_NARROW_STRIDES(3, 6)
DEFINE_NARROW_STRIDES(4, 6)
DEFINE_NARROW_STRIDES(2, 7)
DEFINE_NARROW_STRIDES(3, 7)
DEFINE_NARROW_STRIDES(4, 7)

// Several rows of a narrow map and one block, as in convolution_lanes.h: [width - 4][rows - 2][stride - 1]
static const tile_function narrow_tiles[4][6][2] = {
    {NARROW_STRIDES(2, 4), NARROW_STRIDES(3, 4), NARROW_STRIDES(4, 4), NARROW_STRIDES(5, 4), NARROW_STRIDES(6, 4),
     NARROW_STRIDES(7, 4)},
    {NARROW_STRIDES(2, 5), NARROW_STRIDES(3, 5), NARROW_STRIDES(4, 5), NARROW_STRIDES(5, 5)},
    {NARROW_STRIDES(2, 6), NARROW_STRIDES(3, 6), NARROW_STRIDES(4, 6)},
    {NARROW_STRIDES(2, 7), NARROW_STRIDES(3, 7), NARROW_STRIDES(4, 7)},
};

static tile_function narrow_tile(int32_t width, int32_t rows, int32_t stride) {
    if (width < 4 || width > 7 || rows < 2 || stride == 0) return NULL;
    return narrow_tiles[width - 4][rows - 2][stride - 1];
}

void KERNEL(convolve_quantized)(const lk_quantized_convolution *c, int32_t block_begin, int32_t block_end,
                                int32_t row_begin, int32_t row_end) {
    // In pixels: 1 and 2 have tiles of their own.
    const int32_t stride = c->pixel_step == LK_CHANNEL_BLOCK ? 1 : c->pixel_step == 2 * LK_CHANNEL_BLOCK ? 2 : 0;
    const ptrdiff_t weight_block_stride =
        (ptrdiff_t)c->input_blocks * c->kernel_height * c->kernel_width * QUADS * QUAD_BYTES;
    const int32_t rows_at_once =
        NARROW_PIXELS / c->output_width < row_end - row_begin ? NARROW_PIXELS / c->output_width : row_end - row_begin;
    if (narrow_tile(c->output_width, rows_at_once, stride)) {
        for (int32_t block = block_begin; block < block_end; block++)
            for (int32_t row = row_begin; row < row_end; row += rows_at_once) {
                const int32_t rows = row_end - row < rows_at_once ? row_end - row : rows_at_once;
                tile_function narrow = narrow_tile(c->output_width, rows, stride);
                if (!narrow) narrow = tiles[c->output_width - 1][0][stride];
                narrow(c, c->input + row * c->row_step, c->weights + block * weight_block_stride, weight_block_stride,
                       block, row * c->output_row_stride, NULL);
            }
        return;
    }
    const int32_t parts = (c->output_width + TILE_PIXELS - 1) / TILE_PIXELS;
    for (int32_t block = block_begin; block < block_end; block += TILE_BLOCKS) {
        const int32_t blocks = block_end - block < TILE_BLOCKS ? block_end - block : TILE_BLOCKS;
        const int8_t *weights = c->weights + block * weight_block_stride;
        // Weights of a matrix product may come from memory: while those that are here are multiplied, not at once.
        const bool asks = row_end - row_begin == 1 && parts <= 4 && block + 2 * TILE_BLOCKS <= block_end;
        const int8_t *next = asks ? weights + TILE_BLOCKS * weight_block_stride : NULL;
        for (int32_t row = row_begin; row < row_end; row++) {
            const uint8_t *line = c->input + row * c->row_step;
            for (int32_t part = 0; part < parts; part++) {
                const int32_t x = (int32_t)((int64_t)part * c->output_width / parts);
                const int32_t end = (int32_t)((int64_t)(part + 1) * c->output_width / parts);
                tiles[end - x - 1][blocks - 1][stride](c, line + x * c->pixel_step, weights, weight_block_stride, block,
                                                       row * c->output_row_stride + (ptrdiff_t)x * LK_CHANNEL_BLOCK,
                                                       next ? next + part * weight_block_stride / 2 : NULL);
            }
        }
    }
}

#undef DEFINE_TILE
#undef TILE_WIDTHS
#undef DEFINE_WIDTH
#undef WIDTH
#undef DEFINE_NARROW
#undef DEFINE_NARROW_STRIDES
#undef NARROW_STRIDES
