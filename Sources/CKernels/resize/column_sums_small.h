// The box filter's horizontal sums where a cell's sum fits 16 bits.

// Cells of one or two pixels. Returns the number of pixels done; 0 for larger factors.
LK_INLINE int32_t sum_short_cells_of_four(const uint16_t *line, int32_t width, int32_t factor, float *cells) {
    int32_t x = 0;
    if (factor == 1)
        for (; x + 4 <= width; x += 4) {
            u16x16 pixels;
            memcpy(&pixels, line + (ptrdiff_t)x * 4, sizeof pixels);
            lk_store16(cells + (ptrdiff_t)x * 4, __builtin_convertvector(pixels, lk_f32x16));
        }
    if (factor == 2)
        for (; x + 8 <= width; x += 8) {
            u16x32 pixels;
            memcpy(&pixels, line + (ptrdiff_t)x * 4, sizeof pixels);
            const u16x16 pairs =
                __builtin_shufflevector(pixels, pixels, 0, 1, 2, 3, 8, 9, 10, 11, 16, 17, 18, 19, 24, 25, 26, 27) +
                __builtin_shufflevector(pixels, pixels, 4, 5, 6, 7, 12, 13, 14, 15, 20, 21, 22, 23, 28, 29, 30, 31);
            lk_store16(cells + (ptrdiff_t)x * 2, __builtin_convertvector(pairs, lk_f32x16));
        }
    return x;
}

// Eight pixels at a time, then halves are added until one pixel is left.
LK_INLINE void sum_small_cells_of_four(const uint16_t *line, int32_t width, int32_t factor, float *cells) {
    const int32_t done = sum_short_cells_of_four(line, width, factor, cells);
    cells += (ptrdiff_t)(done / factor) * 4;
    for (int32_t x = done; x < width; x += factor, cells += 4) {
        const int32_t end = x + factor < width ? x + factor : width;
        u16x4 sum = {0};
        int32_t i = x;
        if (i + 8 <= end) {
            u16x32 eight;
            memcpy(&eight, line + (ptrdiff_t)i * 4, sizeof eight);
            for (i += 8; i + 8 <= end; i += 8) {
                u16x32 more;
                memcpy(&more, line + (ptrdiff_t)i * 4, sizeof more);
                eight += more;
            }
            u16x16 four =
                __builtin_shufflevector(eight, eight, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15) +
                __builtin_shufflevector(eight, eight, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31);
            u16x8 two = __builtin_shufflevector(four, four, 0, 1, 2, 3, 4, 5, 6, 7) +
                        __builtin_shufflevector(four, four, 8, 9, 10, 11, 12, 13, 14, 15);
            sum = __builtin_shufflevector(two, two, 0, 1, 2, 3) + __builtin_shufflevector(two, two, 4, 5, 6, 7);
        }
        if (i + 4 <= end) {
            u16x16 four;
            memcpy(&four, line + (ptrdiff_t)i * 4, sizeof four);
            i += 4;
            u16x8 two = __builtin_shufflevector(four, four, 0, 1, 2, 3, 4, 5, 6, 7) +
                        __builtin_shufflevector(four, four, 8, 9, 10, 11, 12, 13, 14, 15);
            sum += __builtin_shufflevector(two, two, 0, 1, 2, 3) + __builtin_shufflevector(two, two, 4, 5, 6, 7);
        }
        for (; i < end; i++) sum += load_pixel(line + (ptrdiff_t)i * 4);
        lk_f32x4 value = __builtin_convertvector(sum, lk_f32x4);
        memcpy(cells, &value, sizeof value);
    }
}

// Cells of one or two pixels of three channels. A vector is read from every fourth or eighth pixel on, with the
// beginning of the pixels behind them; the last pixels, which have none behind them, are left over.
LK_INLINE int32_t sum_short_cells_of_three(const uint16_t *line, int32_t width, int32_t factor, float *cells) {
    int32_t x = 0;
    if (factor == 1) {
        const u16x16 zero = {0};
        for (; x + 6 <= width; x += 4) {
            u16x16 pixels;
            memcpy(&pixels, line + (ptrdiff_t)x * 3, sizeof pixels);
            const u16x16 padded =
                __builtin_shufflevector(pixels, zero, 0, 1, 2, 16, 3, 4, 5, 16, 6, 7, 8, 16, 9, 10, 11, 16);
            lk_store16(cells + (ptrdiff_t)x * 4, __builtin_convertvector(padded, lk_f32x16));
        }
    }
    if (factor == 2) {
        const u16x32 zero = {0};
        for (; x + 11 <= width; x += 8) {
            u16x32 pixels;
            memcpy(&pixels, line + (ptrdiff_t)x * 3, sizeof pixels);
            const u16x16 pairs =
                __builtin_shufflevector(pixels, zero, 0, 1, 2, 32, 6, 7, 8, 32, 12, 13, 14, 32, 18, 19, 20, 32) +
                __builtin_shufflevector(pixels, zero, 3, 4, 5, 32, 9, 10, 11, 32, 15, 16, 17, 32, 21, 22, 23, 32);
            lk_store16(cells + (ptrdiff_t)x * 2, __builtin_convertvector(pairs, lk_f32x16));
        }
    }
    return x;
}
