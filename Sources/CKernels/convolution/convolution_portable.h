void KERNEL(convolve)(const lk_convolution *c, int32_t block_begin, int32_t block_end, int32_t row_begin,
                      int32_t row_end) {
    const int32_t channels = c->input_channels;
    for (int32_t block = block_begin; block < block_end; block++)
        for (int32_t row = row_begin; row < row_end; row++)
            for (int32_t x = 0; x < c->output_width; x++) {
                float sums[LK_CHANNEL_BLOCK];
                for (int o = 0; o < LK_CHANNEL_BLOCK; o++) sums[o] = c->bias[block * LK_CHANNEL_BLOCK + o];
                const float *w =
                    c->weights + (ptrdiff_t)block * channels * c->kernel_height * c->kernel_width * LK_CHANNEL_BLOCK;
                for (int32_t first = 0; first < channels; first += LK_CHANNEL_BLOCK)
                    for (int32_t ky = 0; ky < c->kernel_height; ky++)
                        for (int32_t kx = 0; kx < c->kernel_width; kx++) {
                            const float *pixel = c->input + first / LK_CHANNEL_BLOCK * c->input_block_stride +
                                                 row * c->row_step + ky * c->tap_row_stride + x * c->pixel_step +
                                                 kx * c->tap_stride;
                            for (int32_t i = 0; i < LK_CHANNEL_BLOCK && first + i < channels;
                                 i++, w += LK_CHANNEL_BLOCK)
                                for (int o = 0; o < LK_CHANNEL_BLOCK; o++) sums[o] += pixel[i] * w[o];
                        }
                const ptrdiff_t at =
                    block * c->output_block_stride + row * c->output_row_stride + x * c->output_pixel_stride;
                for (int o = 0; o < LK_CHANNEL_BLOCK; o++) {
                    float sum = sums[o] + (c->residual ? c->residual[at + o] : 0);
                    if (c->relu && !(sum > 0)) sum = 0;
                    if (c->quantized_output) c->quantized_output[at + o] = lk_u8(sum * c->quantized_scale);
                    else c->output[at + o] = sum;
                }
            }
}
