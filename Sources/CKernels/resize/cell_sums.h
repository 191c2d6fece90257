// The box filter in one pass: rows of four bytes per pixel to cells of four floats.

// The cells from pixel `x` on.
LK_INLINE void sum_cells_from(int32_t x, const uint8_t *source, ptrdiff_t stride, int32_t rows, int32_t width,
                              int32_t factor, float *cells) {
    for (; x < width; x += factor) {
        const int32_t end = x + factor < width ? x + factor : width;
        u32x4 sum = {0};
        for (int32_t y = 0; y < rows; y++)
            for (int32_t i = x; i < end; i++) {
                uint8_t pixel[4];
                memcpy(pixel, source + y * stride + (ptrdiff_t)i * 4, sizeof pixel);
                sum += (u32x4){pixel[0], pixel[1], pixel[2], pixel[3]};
            }
        lk_f32x4 value = __builtin_convertvector(sum, lk_f32x4);
        memcpy(cells + (ptrdiff_t)(x / factor) * 4, &value, sizeof value);
    }
}

#if defined(RESIZE_IN_512)
#include "cell_sums_avx512.h"
#else
void RESIZE(sum_cells)(const uint8_t *source, ptrdiff_t stride, int32_t rows, int32_t width, int32_t factor,
                       float *cells) {
    sum_cells_from(0, source, stride, rows, width, factor, cells);
}
#endif
