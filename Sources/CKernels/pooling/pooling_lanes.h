// Pooling of sixteen channels at once; the including file defines POOL and sets the target.

#include "pooling_taps.h"

void POOL(const lk_pooling *p, int32_t row_begin, int32_t row_end) {
    for (int32_t row = row_begin; row < row_end; row++)
        for (int32_t column = 0; column < p->output_width; column++) {
            const int32_t top = row * p->stride_y - p->padding_top, left = column * p->stride_x - p->padding_left;
            int32_t y_first, y_end, x_first, x_end;
            taps_inside(top, p->dilation_y, p->kernel_height, p->input_height, &y_first, &y_end);
            taps_inside(left, p->dilation_x, p->kernel_width, p->input_width, &x_first, &x_end);
            lk_f32x16 result = lk_splat16(p->mean ? 0 : -__builtin_inff());
            for (int32_t y = y_first; y < y_end; y++) {
                const float *line = p->input + (ptrdiff_t)(top + y * p->dilation_y) * p->input_row_stride;
                for (int32_t x = x_first; x < x_end; x++) {
                    const lk_f32x16 value = lk_load16(line + (ptrdiff_t)(left + x * p->dilation_x) * LK_CHANNEL_BLOCK);
                    result = p->mean ? result + value : __builtin_elementwise_max(result, value);
                }
            }
            if (p->mean) {
                int32_t rows = y_end - y_first, columns = x_end - x_first;
                if (p->padding_counts) {
                    int32_t first;
                    taps_inside(top, p->dilation_y, p->kernel_height, p->input_height + p->padding_bottom, &first,
                                &rows);
                    taps_inside(left, p->dilation_x, p->kernel_width, p->input_width + p->padding_right, &first,
                                &columns);
                }
                result /= lk_splat16((float)(rows * columns));
            }
            lk_store16(p->output + row * p->output_row_stride + (ptrdiff_t)column * LK_CHANNEL_BLOCK, result);
        }
}
