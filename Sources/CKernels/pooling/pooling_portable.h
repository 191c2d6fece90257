void KERNEL(pool)(const lk_pooling *p, int32_t row_begin, int32_t row_end) {
    for (int32_t row = row_begin; row < row_end; row++)
        for (int32_t column = 0; column < p->output_width; column++)
            for (int channel = 0; channel < LK_CHANNEL_BLOCK; channel++) {
                float largest = -INFINITY, sum = 0;
                int32_t count = 0;
                for (int32_t ky = 0; ky < p->kernel_height; ky++)
                    for (int32_t kx = 0; kx < p->kernel_width; kx++) {
                        const int32_t y = row * p->stride_y - p->padding_top + ky * p->dilation_y;
                        const int32_t x = column * p->stride_x - p->padding_left + kx * p->dilation_x;
                        const bool inside = y >= 0 && y < p->input_height && x >= 0 && x < p->input_width;
                        if (p->padding_counts) {
                            count += y < p->input_height + p->padding_bottom && x < p->input_width + p->padding_right;
                        } else {
                            count += inside;
                        }
                        if (!inside) continue;
                        const float value =
                            p->input[y * p->input_row_stride + (ptrdiff_t)x * LK_CHANNEL_BLOCK + channel];
                        largest = fmaxf(largest, value);
                        sum += value;
                    }
                p->output[row * p->output_row_stride + (ptrdiff_t)column * LK_CHANNEL_BLOCK + channel] =
                    p->mean ? sum / (float)count : largest;
            }
}
