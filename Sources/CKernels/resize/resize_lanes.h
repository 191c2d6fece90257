// The stages of an antialiased resize; the including file defines RESIZE and sets the target.

#include "../vector.h"

typedef uint8_t u8x64 __attribute__((vector_size(64)));
typedef uint16_t u16x64 __attribute__((vector_size(128)));

// A strip of 64 columns is summed down all rows in registers, so that the source is read once and
// nothing else travels.
void RESIZE(sum_rows)(const uint8_t *source, ptrdiff_t stride, int32_t rows, size_t bytes,
                      uint16_t *out) {
    size_t j = 0;
    for (; j + 64 <= bytes; j += 64) {
        u16x64 sum = {0};
        for (int32_t i = 0; i < rows; i++) {
            u8x64 line;
            memcpy(&line, source + i * stride + j, sizeof line);
            sum += __builtin_convertvector(line, u16x64);
        }
        memcpy(out + j, &sum, sizeof sum);
    }
    for (; j < bytes; j++) {
        uint16_t sum = 0;
        for (int32_t i = 0; i < rows; i++) sum += source[i * stride + j];
        out[j] = sum;
    }
}

typedef uint16_t u16x4 __attribute__((vector_size(8)));
typedef uint32_t u32x4 __attribute__((vector_size(16)));

LK_INLINE void sum_cells_of_four(const uint16_t *line, int32_t width, int32_t factor, float *cells) {
    for (int32_t x = 0; x < width; x += factor, cells += 4) {
        const int32_t end = x + factor < width ? x + factor : width;
        u32x4 sum = {0};
        for (int32_t i = x; i < end; i++) {
            u16x4 pixel;
            memcpy(&pixel, line + (ptrdiff_t)i * 4, sizeof pixel);
            sum += __builtin_convertvector(pixel, u32x4);
        }
        lk_f32x4 value = __builtin_convertvector(sum, lk_f32x4);
        memcpy(cells, &value, sizeof value);
    }
}

LK_INLINE void sum_cells(const uint16_t *line, const int channels, int32_t width, int32_t factor,
                         float *cells) {
    for (int32_t x = 0; x < width; x += factor, cells += 4) {
        const int32_t end = x + factor < width ? x + factor : width;
        uint32_t sums[4] = {0};
        for (int32_t i = x; i < end; i++)
            for (int channel = 0; channel < channels; channel++)
                sums[channel] += line[(ptrdiff_t)i * channels + channel];
        for (int channel = 0; channel < 4; channel++) cells[channel] = (float)sums[channel];
    }
}

void RESIZE(sum_columns)(const uint16_t *line, int32_t channels, int32_t width, int32_t factor,
                         float *cells) {
    if (channels == 4) sum_cells_of_four(line, width, factor, cells);
    else if (channels == 3) sum_cells(line, 3, width, factor, cells);
    else sum_cells(line, 1, width, factor, cells);
}

void RESIZE(filter_columns)(const float *cells, const lk_filter_span *spans, const float *weights,
                            int32_t width, float *out) {
    for (int32_t x = 0; x < width; x++) {
        const lk_filter_span span = spans[x];
        lk_f32x4 sum = {0};
        for (int32_t i = 0; i < span.count; i++) {
            lk_f32x4 cell;
            memcpy(&cell, cells + (ptrdiff_t)(span.first + i) * 4, sizeof cell);
            sum += cell * weights[span.offset + i];
        }
        memcpy(out + (ptrdiff_t)x * 4, &sum, sizeof sum);
    }
}

void RESIZE(accumulate)(const float *line, float weight, size_t count, float *out) {
    size_t i = 0;
    for (; i + 16 <= count; i += 16)
        lk_store16(out + i, lk_load16(out + i) + lk_load16(line + i) * weight);
    for (; i < count; i++) out[i] += line[i] * weight;
}
