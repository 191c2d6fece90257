// The box filter that shrinks an image by a whole factor: sums of rows, sums of columns, and both in one pass.

// Vectors of 16- and 32-bit sums; a pixel has up to four.
typedef uint8_t u8x32 __attribute__((vector_size(32)));
typedef uint16_t u16x4 __attribute__((vector_size(8)));
typedef uint16_t u16x8 __attribute__((vector_size(16)));
typedef uint16_t u16x16 __attribute__((vector_size(32)));
typedef uint16_t u16x32 __attribute__((vector_size(64)));
typedef uint32_t u32x4 __attribute__((vector_size(16)));
typedef uint16_t u16x64 __attribute__((vector_size(128)));

LK_INLINE u16x4 load_pixel(const uint16_t *line) {
    u16x4 pixel;
    memcpy(&pixel, line, sizeof pixel);
    return pixel;
}

// Prefetch distance of the sums of rows in bytes; measured.
enum { ROW_SUMS_AHEAD = 2048 };

LK_INLINE u16x64 widened(const uint8_t *bytes) {
    lk_u8x64 line;
    memcpy(&line, bytes, sizeof line);
    __builtin_prefetch(bytes + ROW_SUMS_AHEAD);
    return __builtin_convertvector(line, u16x64);
}

// Adds up to three neighboring rows to `out`, or writes their sum to it if `begins`.
LK_INLINE void add_rows(const uint8_t *source, ptrdiff_t stride, const int rows, const int begins, size_t bytes,
                        uint16_t *out) {
    size_t j = 0;
    for (; j + 64 <= bytes; j += 64) {
        u16x64 sum = widened(source + j);
        if (rows > 1) sum += widened(source + stride + j);
        if (rows > 2) sum += widened(source + 2 * stride + j);
        if (!begins) {
            u16x64 before;
            memcpy(&before, out + j, sizeof before);
            sum += before;
        }
        memcpy(out + j, &sum, sizeof sum);
    }
    for (; j < bytes; j++) {
        uint16_t sum = begins ? 0 : out[j];
        for (int i = 0; i < rows; i++) sum += source[i * stride + j];
        out[j] = sum;
    }
}

// Three whole rows at a time: the prefetchers follow that many streams at full memory bandwidth, and the sums stay in
// cache.
void KERNEL(sum_rows)(const uint8_t *source, ptrdiff_t stride, int32_t rows, size_t bytes, uint16_t *out) {
    int32_t i = rows < 3 ? rows : 3;
    if (i == 3) add_rows(source, stride, 3, 1, bytes, out);
    else if (i == 2) add_rows(source, stride, 2, 1, bytes, out);
    else add_rows(source, stride, 1, 1, bytes, out);
    for (; i + 3 <= rows; i += 3) add_rows(source + i * stride, stride, 3, 0, bytes, out);
    if (rows - i == 2) add_rows(source + i * stride, stride, 2, 0, bytes, out);
    else if (rows - i == 1) add_rows(source + i * stride, stride, 1, 0, bytes, out);
}

// The sums of four pairs of neighboring pixels of four channels.
LK_INLINE u16x16 pairs_of_four(u16x32 pixels) {
    return __builtin_shufflevector(pixels, pixels, 0, 1, 2, 3, 8, 9, 10, 11, 16, 17, 18, 19, 24, 25, 26, 27) +
           __builtin_shufflevector(pixels, pixels, 4, 5, 6, 7, 12, 13, 14, 15, 20, 21, 22, 23, 28, 29, 30, 31);
}

// The same of three channels, in cells of four.
LK_INLINE u16x16 pairs_of_three(u16x32 pixels) {
    const u16x32 zero = {0};
    return __builtin_shufflevector(pixels, zero, 0, 1, 2, 32, 6, 7, 8, 32, 12, 13, 14, 32, 18, 19, 20, 32) +
           __builtin_shufflevector(pixels, zero, 3, 4, 5, 32, 9, 10, 11, 32, 15, 16, 17, 32, 21, 22, 23, 32);
}

// Cells of one or two pixels, whose sums fit 16 bits. Returns the number of pixels done; 0 for larger factors.
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
            lk_store16(cells + (ptrdiff_t)x * 2, __builtin_convertvector(pairs_of_four(pixels), lk_f32x16));
        }
    return x;
}

// Cells whose sums fit 16 bits: eight pixels at a time, then halves are added until one pixel is left.
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

// Cells of one or two pixels of three channels, whose sums fit 16 bits. A vector is read from every fourth or eighth
// pixel on, with the beginning of the pixels behind them; the last pixels, which have none behind them, are left over.
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
        for (; x + 11 <= width; x += 8) {
            u16x32 pixels;
            memcpy(&pixels, line + (ptrdiff_t)x * 3, sizeof pixels);
            lk_store16(cells + (ptrdiff_t)x * 2, __builtin_convertvector(pairs_of_three(pixels), lk_f32x16));
        }
    }
    return x;
}

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

void KERNEL(sum_columns)(const uint16_t *line, int32_t channels, int32_t width, int32_t factor, bool fits,
                         float *cells) {
    if (channels == 4 && fits) sum_small_cells_of_four(line, width, factor, cells);
    else if (channels == 4) sum_cells_of_four(line, width, factor, cells);
    else if (channels == 3) sum_cells_of_three(line, width, factor, fits, cells);
    else sum_cells_of_one(line, width, factor, cells);
}

// The sums of two rows of 32 bytes. The next two rows are fetched meanwhile: the prefetchers of the CPU begin anew with
// every row, and reading an image of 12 megapixels takes half as long again without this (EPYC of family 26).
LK_INLINE u16x32 two_rows(const uint8_t *source, ptrdiff_t stride) {
    u8x32 first, second;
    memcpy(&first, source, sizeof first);
    memcpy(&second, source + stride, sizeof second);
    __builtin_prefetch(source + 2 * stride);
    __builtin_prefetch(source + 3 * stride);
    return __builtin_convertvector(first, u16x32) + __builtin_convertvector(second, u16x32);
}

LK_INLINE void store_means_of_four(u16x16 sums, uint8_t *out) {
    const lk_u8x16 means = __builtin_convertvector((sums + 1 + (sums >> 2 & 1)) >> 2, lk_u8x16);
    memcpy(out, &means, sizeof means);
}

// Four means at a time. Of three channels 32 bytes are read for 24; the last pixels, which have none behind them, are
// left over.
void KERNEL(halve_rows)(const uint8_t *source, ptrdiff_t stride, int32_t channels, int32_t width, uint8_t *out) {
    int32_t x = 0;
    if (channels == 4)
        for (; x + 4 <= width; x += 4)
            store_means_of_four(pairs_of_four(two_rows(source + (ptrdiff_t)x * 8, stride)), out + (ptrdiff_t)x * 4);
    if (channels == 3)
        for (; x + 6 <= width; x += 4)
            store_means_of_four(pairs_of_three(two_rows(source + (ptrdiff_t)x * 6, stride)), out + (ptrdiff_t)x * 4);
    for (; x < width; x++) {
        uint8_t *pixel = out + (ptrdiff_t)x * 4;
        pixel[3] = 0;
        for (int32_t channel = 0; channel < channels; channel++) {
            const uint8_t *square = source + (ptrdiff_t)x * 2 * channels + channel;
            const uint32_t sum = square[0] + square[channels] + square[stride] + square[stride + channels];
            pixel[channel] = (uint8_t)((sum + 1 + (sum >> 2 & 1)) >> 2);
        }
    }
}

// The cells from pixel `x` on, from rows of four bytes per pixel.
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

#if defined(__x86_64__)
#include "cell_sums_x86.h"
#else
// Whole cells of as many columns as a first-level cache holds sums of: rows first, then columns.
void KERNEL(sum_cells)(const uint8_t *source, ptrdiff_t stride, int32_t rows, int32_t width, int32_t factor,
                       float *cells) {
    enum { PANEL = 2048 };
    uint16_t sums[PANEL * 4];
    if (factor > PANEL) return sum_cells_from(0, source, stride, rows, width, factor, cells);
    const int32_t columns = PANEL / factor * factor;
    for (int32_t x = 0; x < width; x += columns) {
        const int32_t count = width - x < columns ? width - x : columns;
        KERNEL(sum_rows)(source + (ptrdiff_t)x * 4, stride, rows, (size_t)count * 4, sums);
        // Sixteen bits hold the sum of 257 bytes.
        KERNEL(sum_columns)(sums, 4, count, factor, rows * factor <= 257, cells + (ptrdiff_t)(x / factor) * 4);
    }
}
#endif
