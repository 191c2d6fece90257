// Pooling of sixteen channels at once; the including file defines POOL and sets the target.

#include "pooling_taps.h"

void POOL(const lk_pooling *p, int32_t row_begin, int32_t row_end) {
    for (int32_t row = row_begin; row < row_end; row++)
        for (int32_t column = 0; column < p->output_width; column++) {
            const lk_pooling_window w = pooling_window(p, row, column);
            lk_f32x16 result = lk_splat16(p->mean ? 0 : -__builtin_inff());
            for (int32_t y = w.y_first; y < w.y_end; y++)
                for (int32_t x = w.x_first; x < w.x_end; x++) {
                    const lk_f32x16 value = lk_load16(p->input + tap_offset(p, &w, y, x));
                    result = p->mean ? result + value : __builtin_elementwise_max(result, value);
                }
            if (p->mean) {
                int32_t rows = w.y_end - w.y_first, columns = w.x_end - w.x_first;
                if (p->padding_counts) {
                    int32_t first;
                    taps_inside(w.top, p->dilation_y, p->kernel_height, p->input_height + p->padding_bottom, &first,
                                &rows);
                    taps_inside(w.left, p->dilation_x, p->kernel_width, p->input_width + p->padding_right, &first,
                                &columns);
                }
                result /= lk_splat16((float)(rows * columns));
            }
            lk_store16(p->output + row * p->output_row_stride + (ptrdiff_t)column * LK_CHANNEL_BLOCK, result);
        }
}
