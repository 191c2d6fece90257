// The box filter's horizontal sums: a row of 16-bit sums to cells of four floats.

#include "column_sums_small.h"

LK_INLINE void sum_cells_of_four(const uint16_t *line, int32_t width, int32_t factor, float *cells) {
    for (int32_t x = 0; x < width; x += factor, cells += 4) {
        const int32_t end = x + factor < width ? x + factor : width;
        u32x4 sum = {0};
        for (int32_t i = x; i < end; i++) sum += __builtin_convertvector(load_pixel(line + (ptrdiff_t)i * 4), u32x4);
        lk_f32x4 value = __builtin_convertvector(sum, lk_f32x4);
        memcpy(cells, &value, sizeof value);
    }
}

// Three channels are read by a load of four; the fourth belongs to the next pixel and is masked. The last pixel has no
// next one.
LK_INLINE void sum_cells_of_three(const uint16_t *line, int32_t width, int32_t factor, bool fits, float *cells) {
    const u32x4 three = {~0u, ~0u, ~0u, 0};
    const int32_t done = fits ? sum_short_cells_of_three(line, width, factor, cells) : 0;
    cells += (ptrdiff_t)(done / factor) * 4;
    for (int32_t x = done; x < width; x += factor, cells += 4) {
        const int32_t end = x + factor < width ? x + factor : width;
        u32x4 sum = {0};
        for (int32_t i = x; i < end; i++) {
            if (i < width - 1) {
                sum += __builtin_convertvector(load_pixel(line + (ptrdiff_t)i * 3), u32x4) & three;
            } else {
                const uint16_t *last = line + (ptrdiff_t)i * 3;
                sum += (u32x4){last[0], last[1], last[2], 0};
            }
        }
        lk_f32x4 value = __builtin_convertvector(sum, lk_f32x4);
        memcpy(cells, &value, sizeof value);
    }
}

LK_INLINE void sum_cells_of_one(const uint16_t *line, int32_t width, int32_t factor, float *cells) {
    for (int32_t x = 0; x < width; x += factor, cells += 4) {
        const int32_t end = x + factor < width ? x + factor : width;
        uint32_t sum = 0;
        for (int32_t i = x; i < end; i++) sum += line[i];
        const lk_f32x4 value = {(float)sum, 0, 0, 0};
        memcpy(cells, &value, sizeof value);
    }
}

void RESIZE(sum_columns)(const uint16_t *line, int32_t channels, int32_t width, int32_t factor, bool fits,
                         float *cells) {
    if (channels == 4 && fits) sum_small_cells_of_four(line, width, factor, cells);
    else if (channels == 4) sum_cells_of_four(line, width, factor, cells);
    else if (channels == 3) sum_cells_of_three(line, width, factor, fits, cells);
    else sum_cells_of_one(line, width, factor, cells);
}
