// Pooling of sixteen channels at once.

#include "pooling_taps.h"

void KERNEL(pool)(const lk_pooling *p, int32_t row_begin, int32_t row_end) {
    for (int32_t row = row_begin; row < row_end; row++)
        for (int32_t column = 0; column < p->output_width; column++) {
            const lk_pooling_window w = pooling_window(p, row, column);
            lk_f32x16 result = lk_splat16(p->mean ? 0 : -__builtin_inff());
            for (int32_t y = w.y_first; y < w.y_end; y++)
                for (int32_t x = w.x_first; x < w.x_end; x++) {
                    const lk_f32x16 value = lk_load16(p->input + tap_offset(p, &w, y, x));
                    result = p->mean ? result + value : __builtin_elementwise_max(result, value);
                }
            if (p->mean) result /= lk_splat16((float)counted_taps(p, &w));
            lk_store16(p->output + row * p->output_row_stride + (ptrdiff_t)column * LK_CHANNEL_BLOCK, result);
        }
}
