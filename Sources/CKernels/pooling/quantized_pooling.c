// Pooling in int8. A pixel's block is one register of 16 bytes on every target, so one source serves all.

#include "pooling_taps.h"

void lk_pool_quantized(const lk_pooling *p, int32_t row_begin, int32_t row_end) {
    for (int32_t row = row_begin; row < row_end; row++)
        for (int32_t column = 0; column < p->output_width; column++) {
            const lk_pooling_window w = pooling_window(p, row, column);
            lk_u8x16 largest = {0};
            for (int32_t y = w.y_first; y < w.y_end; y++)
                for (int32_t x = w.x_first; x < w.x_end; x++) {
                    lk_u8x16 value;
                    memcpy(&value, p->quantized_input + tap_offset(p, &w, y, x), sizeof value);
                    largest = __builtin_elementwise_max(largest, value);
                }
            memcpy(p->quantized_output + row * p->output_row_stride + (ptrdiff_t)column * LK_CHANNEL_BLOCK, &largest,
                   sizeof largest);
        }
}
