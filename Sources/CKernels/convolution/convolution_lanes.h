// A direct convolution in register tiles of TILE_PIXELS x TILE_BLOCKS accumulators.
//
// An accumulator holds 16 output channels of one pixel and stays in its register over all input channels and taps; an
// input value is broadcast and multiplied with the weights of the tile's blocks. Following Georganas et al., "Anatomy
// of High-Performance Deep Learning Convolutions on SIMD Architectures" (SC 2018).
//
// Where a map is narrow, a tile takes several of its rows: weights, which no cache holds, are then read less often.

#if defined(LK_AVX512)
// 28 accumulators, two weights and a broadcast in 32 registers.
enum { TILE_PIXELS = 14, TILE_BLOCKS = 2 };
#else
// AVX2: twelve accumulators, two weights and a broadcast in 16 registers. NEON: 24 accumulators, four weights and a
// broadcast in 32.
enum { TILE_PIXELS = 6, TILE_BLOCKS = 1 };
#endif

LK_INLINE void tile(const lk_convolution *c, const float *input, const float *weights, ptrdiff_t weight_block_stride,
                    int32_t block, ptrdiff_t output_offset, const int rows, const int columns, const int blocks,
                    const ptrdiff_t step, const float *next) {
    lk_f32x16 sums[TILE_BLOCKS][TILE_PIXELS];
    const ptrdiff_t row_step = c->row_step;
#pragma clang loop unroll(full)
    for (int b = 0; b < blocks; b++) {
        lk_f32x16 bias = lk_load16(c->bias + (block + b) * LK_CHANNEL_BLOCK);
#pragma clang loop unroll(full)
        for (int p = 0; p < rows * columns; p++) sums[b][p] = bias;
    }
    for (int32_t first = 0; first < c->input_channels; first += LK_CHANNEL_BLOCK) {
        const int32_t left = c->input_channels - first;
        const int32_t channels = left < LK_CHANNEL_BLOCK ? left : LK_CHANNEL_BLOCK;
        const float *plane = input + first / LK_CHANNEL_BLOCK * c->input_block_stride;
        // A quarter of the next weights: a matrix product has up to four tiles for each.
        if (next)
            lk_prefetch(next + first * (TILE_BLOCKS * LK_CHANNEL_BLOCK / 4),
                        TILE_BLOCKS * LK_CHANNEL_BLOCK * LK_CHANNEL_BLOCK);
        for (int32_t ky = 0; ky < c->kernel_height; ky++) {
            for (int32_t kx = 0; kx < c->kernel_width; kx++) {
                const float *taps = plane + ky * c->tap_row_stride + kx * c->tap_stride;
#pragma clang loop unroll_count(2)
                for (int32_t channel = 0; channel < channels; channel++) {
                    lk_f32x16 w[TILE_BLOCKS];
#pragma clang loop unroll(full)
                    for (int b = 0; b < blocks; b++) w[b] = lk_load16(weights + b * weight_block_stride);
#pragma clang loop unroll(full)
                    for (int p = 0; p < rows * columns; p++) {
                        lk_f32x16 x = lk_splat16(taps[p / columns * row_step + p % columns * step + channel]);
#pragma clang loop unroll(full)
                        for (int b = 0; b < blocks; b++) sums[b][p] = __builtin_elementwise_fma(x, w[b], sums[b][p]);
                    }
                    weights += LK_CHANNEL_BLOCK;
                }
            }
        }
    }
#pragma clang loop unroll(full)
    for (int b = 0; b < blocks; b++) {
        ptrdiff_t offset = output_offset + (block + b) * c->output_block_stride;
#pragma clang loop unroll(full)
        for (int p = 0; p < rows * columns; p++) {
            const ptrdiff_t at = offset + p / columns * c->output_row_stride + p % columns * c->output_pixel_stride;
            lk_f32x16 sum = sums[b][p];
            if (c->residual) sum += lk_load16(c->residual + at);
            if (c->relu) sum = __builtin_elementwise_max(sum, lk_splat16(0));
            if (c->quantized_output) lk_store16_u8(c->quantized_output + at, sum * c->quantized_scale);
            else lk_store16(c->output + at, sum);
        }
    }
}

typedef void (*tile_function)(const lk_convolution *, const float *, const float *, ptrdiff_t, int32_t, ptrdiff_t,
                              const float *);

#define DEFINE_TILE(p, b, s)                                                                                           \
    static void tile_##p##_##b##_##s(const lk_convolution *c, const float *input, const float *weights,                \
                                     ptrdiff_t weight_block_stride, int32_t block, ptrdiff_t output_offset,            \
                                     const float *next) {                                                              \
        tile(c, input, weights, weight_block_stride, block, output_offset, 1, p, b, s == 0 ? c->pixel_step : s, next); \
    }
// The steps of strides 1 and 2 are known to the compiler; 0 stands for any other.
#define DEFINE_STEPS(p, b)                                                                                             \
    DEFINE_TILE(p, b, 0)                                                                                               \
    DEFINE_TILE(p, b, 16)                                                                                              \
    DEFINE_TILE(p, b, 32)                                                                                              \
    DEFINE_TILE(p, b, 4)                                                                                               \
    DEFINE_TILE(p, b, 8)
#define STEPS(p, b)                                                                                                    \
    { tile_##p##_##b##_0, tile_##p##_##b##_16, tile_##p##_##b##_32, tile_##p##_##b##_4, tile_##p##_##b##_8 }

#if defined(LK_AVX512)
#define TILE_WIDTHS(W) W(1) W(2) W(3) W(4) W(5) W(6) W(7) W(8) W(9) W(10) W(11) W(12) W(13) W(14)
#define DEFINE_WIDTH(p)                                                                                                \
    DEFINE_STEPS(p, 1)                                                                                                 \
    DEFINE_STEPS(p, 2)
#define WIDTH(p) {STEPS(p, 1), STEPS(p, 2)},
#else
#define TILE_WIDTHS(W) W(1) W(2) W(3) W(4) W(5) W(6)
#define DEFINE_WIDTH(p) DEFINE_STEPS(p, 1)
#define WIDTH(p) {STEPS(p, 1)},
#endif

TILE_WIDTHS(DEFINE_WIDTH)

// [pixels - 1][blocks - 1][step]
static const tile_function tiles[TILE_PIXELS][TILE_BLOCKS][5] = {TILE_WIDTHS(WIDTH)};

#if defined(LK_AVX512)
// Two rows of 5 to 7 columns, three of 4.
#define DEFINE_NARROW(r, w, b, s)                                                                                      \
    static void narrow_##w##_##b##_##s(const lk_convolution *c, const float *input, const float *weights,              \
                                       ptrdiff_t weight_block_stride, int32_t block, ptrdiff_t output_offset,          \
                                       const float *next) {                                                            \
        tile(c, input, weights, weight_block_stride, block, output_offset, r, w, b, s, next);                          \
    }
#define DEFINE_NARROW_WIDTH(r, w)                                                                                      \
    DEFINE_NARROW(r, w, 1, 16)                                                                                         \
    DEFINE_NARROW(r, w, 1, 32)                                                                                         \
    DEFINE_NARROW(r, w, 2, 16)                                                                                         \
    DEFINE_NARROW(r, w, 2, 32)
#define NARROW_WIDTH(w)                                                                                                \
    {                                                                                                                  \
        {narrow_##w##_1_16, narrow_##w##_1_32}, { narrow_##w##_2_16, narrow_##w##_2_32 }                               \
    }

DEFINE_NARROW_WIDTH(3, 4)
DEFINE_NARROW_WIDTH(2, 5)
DEFINE_NARROW_WIDTH(2, 6)
DEFINE_NARROW_WIDTH(2, 7)

// [width - 4][blocks - 1][step]
static const tile_function narrow_tiles[4][TILE_BLOCKS][2] = {
    NARROW_WIDTH(4),
    NARROW_WIDTH(5),
    NARROW_WIDTH(6),
    NARROW_WIDTH(7),
};

// The rows of a tile of a narrow map, 1 for any other.
LK_INLINE int32_t narrow_rows(int32_t width, ptrdiff_t step) {
    if (width < 4 || width > 7 || (step != 16 && step != 32)) return 1;
    return width == 4 ? 3 : 2;
}
#endif

void KERNEL(convolve)(const lk_convolution *c, int32_t block_begin, int32_t block_end, int32_t row_begin,
                      int32_t row_end) {
    const ptrdiff_t step = c->pixel_step;
    const int step_index = step == 16 ? 1 : step == 32 ? 2 : step == 4 ? 3 : step == 8 ? 4 : 0;
    const ptrdiff_t weight_block_stride =
        (ptrdiff_t)c->input_channels * c->kernel_height * c->kernel_width * LK_CHANNEL_BLOCK;
    // Tiles of nearly the same width: a row of 40 is 14 + 13 + 13, not 14 + 14 + 12.
    const int32_t parts = (c->output_width + TILE_PIXELS - 1) / TILE_PIXELS;
    for (int32_t block = block_begin; block < block_end; block += TILE_BLOCKS) {
        const int32_t blocks = block_end - block < TILE_BLOCKS ? block_end - block : TILE_BLOCKS;
        const float *weights = c->weights + block * weight_block_stride;
        // Weights of a matrix product may come from memory: while those that are here are multiplied, not at once.
        const bool asks = row_end - row_begin == 1 && parts <= 4 && block + 2 * TILE_BLOCKS <= block_end;
        const float *next = asks ? weights + TILE_BLOCKS * weight_block_stride : NULL;
        int32_t row = row_begin;
#if defined(LK_AVX512)
        for (const int32_t rows = narrow_rows(c->output_width, step); rows > 1 && row + rows <= row_end; row += rows)
            narrow_tiles[c->output_width - 4][blocks - 1][step == 16 ? 0 : 1](
                c, c->input + row * c->row_step, weights, weight_block_stride, block, row * c->output_row_stride, NULL);
#endif
        for (; row < row_end; row++) {
            const float *line = c->input + row * c->row_step;
            for (int32_t part = 0; part < parts; part++) {
                const int32_t x = (int32_t)((int64_t)part * c->output_width / parts);
                const int32_t end = (int32_t)((int64_t)(part + 1) * c->output_width / parts);
                tiles[end - x - 1][blocks - 1][step_index](c, line + x * step, weights, weight_block_stride, block,
                                                           row * c->output_row_stride + x * c->output_pixel_stride,
                                                           next ? next + part * weight_block_stride * TILE_BLOCKS / 4
                                                                : NULL);
            }
        }
    }
}

#undef DEFINE_TILE
#undef DEFINE_STEPS
#undef STEPS
#undef TILE_WIDTHS
#undef DEFINE_WIDTH
#undef WIDTH
#undef DEFINE_NARROW
#undef DEFINE_NARROW_WIDTH
#undef NARROW_WIDTH
