// Pooling in int8. A pixel's block is one register of 16 bytes on every target, so one source serves all.

#include "../kernel_tables.h"
#include "pooling_taps.h"

void lk_pool_quantized(const lk_pooling *p, int32_t row_begin, int32_t row_end) {
    for (int32_t row = row_begin; row < row_end; row++)
        for (int32_t column = 0; column < p->output_width; column++) {
            const int32_t top = row * p->stride_y - p->padding_top, left = column * p->stride_x - p->padding_left;
            int32_t y_first, y_end, x_first, x_end;
            taps_inside(top, p->dilation_y, p->kernel_height, p->input_height, &y_first, &y_end);
            taps_inside(left, p->dilation_x, p->kernel_width, p->input_width, &x_first, &x_end);
            lk_u8x16 largest = {0};
            for (int32_t y = y_first; y < y_end; y++) {
                const uint8_t *line = p->quantized_input + (ptrdiff_t)(top + y * p->dilation_y) * p->input_row_stride;
                for (int32_t x = x_first; x < x_end; x++) {
                    lk_u8x16 value;
                    memcpy(&value, line + (ptrdiff_t)(left + x * p->dilation_x) * LK_CHANNEL_BLOCK, sizeof value);
                    largest = __builtin_elementwise_max(largest, value);
                }
            }
            memcpy(p->quantized_output + row * p->output_row_stride + (ptrdiff_t)column * LK_CHANNEL_BLOCK, &largest,
                   sizeof largest);
        }
}
