// Pooling in int8. A pixel's block is one register of 16 bytes on every target, so one source serves all.

#include "pooling_taps.h"

static void pool_largest(const lk_pooling *p, const lk_pooling_window *w, uint8_t *output) {
    lk_u8x16 largest = {0};
    for (int32_t y = w->y_first; y < w->y_end; y++)
        for (int32_t x = w->x_first; x < w->x_end; x++) {
            lk_u8x16 codes;
            memcpy(&codes, p->quantized_input + tap_offset(p, w, y, x), sizeof codes);
            largest = __builtin_elementwise_max(largest, codes);
        }
    memcpy(output, &largest, sizeof largest);
}

static void pool_mean(const lk_pooling *p, const lk_pooling_window *w, float *output) {
    lk_i32x16 sum = {0};
    for (int32_t y = w->y_first; y < w->y_end; y++)
        for (int32_t x = w->x_first; x < w->x_end; x++)
            sum += lk_load16_u8(p->quantized_input + tap_offset(p, w, y, x)) - p->zero_point;
    lk_store16(output, __builtin_convertvector(sum, lk_f32x16) * (p->scale / (float)counted_taps(p, w)));
}

void lk_pool_quantized(const lk_pooling *p, int32_t row_begin, int32_t row_end) {
    for (int32_t row = row_begin; row < row_end; row++)
        for (int32_t column = 0; column < p->output_width; column++) {
            const lk_pooling_window w = pooling_window(p, row, column);
            const ptrdiff_t at = row * p->output_row_stride + (ptrdiff_t)column * LK_CHANNEL_BLOCK;
            if (p->mean) pool_mean(p, &w, p->output + at);
            else pool_largest(p, &w, p->quantized_output + at);
        }
}
