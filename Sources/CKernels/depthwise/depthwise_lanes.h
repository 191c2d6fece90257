// A depthwise convolution in tiles of DEPTHWISE_PIXELS pixels of a row: an accumulator holds the sixteen channels of a
// pixel over all taps, and the weights of a tap are loaded once for the tile.

#if defined(LK_AVX512)
enum { DEPTHWISE_PIXELS = 14 };
#else
enum { DEPTHWISE_PIXELS = 6 };
#endif

LK_INLINE void depthwise_tile(const lk_depthwise_convolution *c, const float *input, const float *weights,
                              const lk_f32x16 bias, float *output, const int pixels, const int32_t height,
                              const int32_t width, const ptrdiff_t step, const ptrdiff_t tap_stride) {
    lk_f32x16 sums[DEPTHWISE_PIXELS];
#pragma clang loop unroll(full)
    for (int p = 0; p < pixels; p++) sums[p] = bias;
    for (int32_t ky = 0; ky < height; ky++) {
        const float *taps = input + ky * c->tap_row_stride;
        for (int32_t kx = 0; kx < width; kx++) {
            const lk_f32x16 w = lk_load16(weights);
            weights += LK_CHANNEL_BLOCK;
#pragma clang loop unroll(full)
            for (int p = 0; p < pixels; p++)
                sums[p] = __builtin_elementwise_fma(lk_load16(taps + p * step + kx * tap_stride), w, sums[p]);
        }
    }
#pragma clang loop unroll(full)
    for (int p = 0; p < pixels; p++) {
        const lk_f32x16 sum = c->relu ? __builtin_elementwise_max(sums[p], lk_splat16(0)) : sums[p];
        lk_store16(output + p * LK_CHANNEL_BLOCK, sum);
    }
}

LK_INLINE void depthwise_rows(const lk_depthwise_convolution *c, int32_t block, int32_t row_begin, int32_t row_end,
                              const int32_t height, const int32_t width, const ptrdiff_t step,
                              const ptrdiff_t tap_stride) {
    const float *weights = c->weights + (ptrdiff_t)block * height * width * LK_CHANNEL_BLOCK;
    const lk_f32x16 bias = lk_load16(c->bias + block * LK_CHANNEL_BLOCK);
    for (int32_t row = row_begin; row < row_end; row++) {
        const float *input = c->input + block * c->input_block_stride + row * c->row_step;
        float *output = c->output + block * c->output_block_stride + row * c->output_row_stride;
        int32_t x = 0;
        for (; x + DEPTHWISE_PIXELS <= c->output_width; x += DEPTHWISE_PIXELS)
            depthwise_tile(c, input + x * step, weights, bias, output + (ptrdiff_t)x * LK_CHANNEL_BLOCK,
                           DEPTHWISE_PIXELS, height, width, step, tap_stride);
        for (; x + 3 <= c->output_width; x += 3)
            depthwise_tile(c, input + x * step, weights, bias, output + (ptrdiff_t)x * LK_CHANNEL_BLOCK, 3, height,
                           width, step, tap_stride);
        for (; x < c->output_width; x++)
            depthwise_tile(c, input + x * step, weights, bias, output + (ptrdiff_t)x * LK_CHANNEL_BLOCK, 1, height,
                           width, step, tap_stride);
    }
}

// Kernels of a size and stride that the compiler knows.
#define DEPTHWISE_KNOWN(size, stride)                                                                                  \
    static void depthwise_##size##_##stride(const lk_depthwise_convolution *c, int32_t block, int32_t row_begin,       \
                                            int32_t row_end) {                                                         \
        depthwise_rows(c, block, row_begin, row_end, size, size, stride *LK_CHANNEL_BLOCK, LK_CHANNEL_BLOCK);          \
    }
DEPTHWISE_KNOWN(3, 1)
DEPTHWISE_KNOWN(3, 2)
DEPTHWISE_KNOWN(5, 1)
DEPTHWISE_KNOWN(5, 2)
DEPTHWISE_KNOWN(7, 1)
#undef DEPTHWISE_KNOWN

static void depthwise_any(const lk_depthwise_convolution *c, int32_t block, int32_t row_begin, int32_t row_end) {
    depthwise_rows(c, block, row_begin, row_end, c->kernel_height, c->kernel_width, c->pixel_step, c->tap_stride);
}

void KERNEL(convolve_depthwise)(const lk_depthwise_convolution *c, int32_t block_begin, int32_t block_end,
                                int32_t row_begin, int32_t row_end) {
    void (*rows)(const lk_depthwise_convolution *, int32_t, int32_t, int32_t) = depthwise_any;
    if (c->kernel_width == c->kernel_height && c->tap_stride == LK_CHANNEL_BLOCK) {
        const ptrdiff_t stride = c->pixel_step / LK_CHANNEL_BLOCK;
        if (c->kernel_width == 3 && stride == 1) rows = depthwise_3_1;
        if (c->kernel_width == 3 && stride == 2) rows = depthwise_3_2;
        if (c->kernel_width == 5 && stride == 1) rows = depthwise_5_1;
        if (c->kernel_width == 5 && stride == 2) rows = depthwise_5_2;
        if (c->kernel_width == 7 && stride == 1) rows = depthwise_7_1;
    }
    for (int32_t block = block_begin; block < block_end; block++) rows(c, block, row_begin, row_end);
}
