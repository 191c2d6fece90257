#include "../kernel_tables.h"

void lk_sum_rows_portable(const uint8_t *source, ptrdiff_t stride, int32_t rows, size_t bytes,
                          uint16_t *out) {
    for (size_t j = 0; j < bytes; j++) {
        uint16_t sum = 0;
        for (int32_t i = 0; i < rows; i++) sum += source[i * stride + j];
        out[j] = sum;
    }
}

void lk_sum_columns_portable(const uint16_t *line, int32_t channels, int32_t width, int32_t factor,
                             float *cells) {
    for (int32_t x = 0; x < width; x += factor, cells += 4)
        for (int32_t channel = 0; channel < 4; channel++) {
            uint32_t sum = 0;
            for (int32_t i = x; channel < channels && i < x + factor && i < width; i++)
                sum += line[(ptrdiff_t)i * channels + channel];
            cells[channel] = (float)sum;
        }
}

void lk_filter_columns_portable(const float *cells, const lk_filter_span *spans,
                                const float *weights, int32_t width, float *out) {
    for (int32_t x = 0; x < width; x++)
        for (int channel = 0; channel < 4; channel++) {
            float sum = 0;
            for (int32_t i = 0; i < spans[x].count; i++)
                sum += cells[(ptrdiff_t)(spans[x].first + i) * 4 + channel] * weights[spans[x].offset + i];
            out[(ptrdiff_t)x * 4 + channel] = sum;
        }
}

void lk_accumulate_portable(const float *line, float weight, size_t count, float *out) {
    for (size_t i = 0; i < count; i++) out[i] += line[i] * weight;
}
