// The transforms of Winograd's F(4x4, 3x3): sixteen outputs of a 3x3 convolution from 36 products
// instead of 144. Lavin, Gray: "Fast Algorithms for Convolutional Neural Networks" (CVPR 2016),
// section 4.2, whose matrices B and A these are; a lane is per channel.

// B' times a column of six.
LK_INLINE void winograd_input_column(const lk_f32x16 d[6], lk_f32x16 out[6]) {
    const lk_f32x16 even = d[4] - 4 * d[2], odd = d[3] - 4 * d[1];
    const lk_f32x16 outer = d[4] - d[2], inner = 2 * (d[3] - d[1]);
    out[0] = 4 * d[0] - 5 * d[2] + d[4];
    out[1] = even + odd;
    out[2] = even - odd;
    out[3] = outer + inner;
    out[4] = outer - inner;
    out[5] = 4 * d[1] - 5 * d[3] + d[5];
}

// A' times a column of six.
LK_INLINE void winograd_output_column(const lk_f32x16 m[6], lk_f32x16 out[4]) {
    const lk_f32x16 near = m[1] + m[2], near_odd = m[1] - m[2];
    const lk_f32x16 far = m[3] + m[4], far_odd = m[3] - m[4];
    out[0] = m[0] + near + far;
    out[1] = near_odd + 2 * far_odd;
    out[2] = near + 4 * far;
    out[3] = near_odd + 8 * far_odd + m[5];
}

void KERNEL(winograd_input)(const lk_winograd *w, const float *input, ptrdiff_t block_stride, ptrdiff_t row_stride,
                            int32_t blocks, float *transformed) {
    const ptrdiff_t tiles = (ptrdiff_t)w->tile_rows * w->tile_columns;
    const ptrdiff_t component = blocks * tiles * LK_CHANNEL_BLOCK;
    for (int32_t block = 0; block < blocks; block++)
        for (int32_t ty = 0; ty < w->tile_rows; ty++)
            for (int32_t tx = 0; tx < w->tile_columns; tx++) {
                // Two more than outputs: the border around the image.
                const int32_t rows = w->height + 2 - 4 * ty < 6 ? w->height + 2 - 4 * ty : 6;
                const int32_t columns = w->width + 2 - 4 * tx < 6 ? w->width + 2 - 4 * tx : 6;
                const float *corner = input + block * block_stride + 4 * ty * row_stride + 4 * tx * LK_CHANNEL_BLOCK;
                lk_f32x16 half[6][6];
                if (rows == 6 && columns == 6) {
#pragma clang loop unroll(full)
                    for (int x = 0; x < 6; x++) {
                        lk_f32x16 d[6], t[6];
#pragma clang loop unroll(full)
                        for (int y = 0; y < 6; y++) d[y] = lk_load16(corner + y * row_stride + x * LK_CHANNEL_BLOCK);
                        winograd_input_column(d, t);
#pragma clang loop unroll(full)
                        for (int y = 0; y < 6; y++) half[y][x] = t[y];
                    }
                } else {
                    for (int x = 0; x < 6; x++) {
                        lk_f32x16 d[6], t[6];
                        for (int y = 0; y < 6; y++)
                            d[y] = y < rows && x < columns ? lk_load16(corner + y * row_stride + x * LK_CHANNEL_BLOCK)
                                                           : lk_splat16(0);
                        winograd_input_column(d, t);
                        for (int y = 0; y < 6; y++) half[y][x] = t[y];
                    }
                }
                float *out = transformed + (block * tiles + ty * w->tile_columns + tx) * LK_CHANNEL_BLOCK;
#pragma clang loop unroll(full)
                for (int y = 0; y < 6; y++) {
                    lk_f32x16 t[6];
                    winograd_input_column(half[y], t);
#pragma clang loop unroll(full)
                    for (int x = 0; x < 6; x++) lk_store16(out + (y * 6 + x) * component, t[x]);
                }
            }
}

void KERNEL(winograd_output)(const lk_winograd *w, const float *products, int32_t blocks, const float *bias,
                             const float *residual, float *output, ptrdiff_t block_stride, ptrdiff_t row_stride,
                             bool relu) {
    const ptrdiff_t tiles = (ptrdiff_t)w->tile_rows * w->tile_columns;
    const ptrdiff_t component = blocks * tiles * LK_CHANNEL_BLOCK;
    for (int32_t block = 0; block < blocks; block++) {
        const lk_f32x16 shift = lk_load16(bias + block * LK_CHANNEL_BLOCK);
        for (int32_t ty = 0; ty < w->tile_rows; ty++)
            for (int32_t tx = 0; tx < w->tile_columns; tx++) {
                const int32_t rows = w->height - 4 * ty < 4 ? w->height - 4 * ty : 4;
                const int32_t columns = w->width - 4 * tx < 4 ? w->width - 4 * tx : 4;
                const float *product = products + (block * tiles + ty * w->tile_columns + tx) * LK_CHANNEL_BLOCK;
                lk_f32x16 half[4][6];
#pragma clang loop unroll(full)
                for (int x = 0; x < 6; x++) {
                    lk_f32x16 m[6], t[4];
#pragma clang loop unroll(full)
                    for (int y = 0; y < 6; y++) m[y] = lk_load16(product + (y * 6 + x) * component);
                    winograd_output_column(m, t);
#pragma clang loop unroll(full)
                    for (int y = 0; y < 4; y++) half[y][x] = t[y];
                }
                const ptrdiff_t corner = block * block_stride + 4 * ty * row_stride + 4 * tx * LK_CHANNEL_BLOCK;
                for (int y = 0; y < rows; y++) {
                    lk_f32x16 t[4];
                    winograd_output_column(half[y], t);
                    for (int x = 0; x < columns; x++) {
                        const ptrdiff_t at = corner + y * row_stride + x * LK_CHANNEL_BLOCK;
                        lk_f32x16 sum = t[x] + shift;
                        if (residual) sum += lk_load16(residual + at);
                        if (relu) sum = __builtin_elementwise_max(sum, lk_splat16(0));
                        lk_store16(output + at, sum);
                    }
                }
            }
    }
}
