void KERNEL(convolve_depthwise)(const lk_depthwise_convolution *c, int32_t block_begin, int32_t block_end,
                                int32_t row_begin, int32_t row_end) {
    for (int32_t block = block_begin; block < block_end; block++)
        for (int32_t row = row_begin; row < row_end; row++)
            for (int32_t x = 0; x < c->output_width; x++)
                for (int channel = 0; channel < LK_CHANNEL_BLOCK; channel++) {
                    const float *w =
                        c->weights + (ptrdiff_t)block * c->kernel_height * c->kernel_width * LK_CHANNEL_BLOCK;
                    float sum = c->bias[block * LK_CHANNEL_BLOCK + channel];
                    for (int32_t ky = 0; ky < c->kernel_height; ky++)
                        for (int32_t kx = 0; kx < c->kernel_width; kx++, w += LK_CHANNEL_BLOCK)
                            sum += w[channel] *
                                   c->input[block * c->input_block_stride + row * c->row_step + ky * c->tap_row_stride +
                                            x * c->pixel_step + kx * c->tap_stride + channel];
                    if (c->relu && !(sum > 0)) sum = 0;
                    c->output[block * c->output_block_stride + row * c->output_row_stride +
                              (ptrdiff_t)x * LK_CHANNEL_BLOCK + channel] = sum;
                }
}
