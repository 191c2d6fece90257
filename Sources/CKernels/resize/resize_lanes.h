// The stages of an antialiased resize; the including file defines RESIZE and sets the target.

#include "../vector.h"

typedef uint8_t u8x64 __attribute__((vector_size(64)));
typedef uint16_t u16x64 __attribute__((vector_size(128)));

// Bytes ahead of what is summed that memory is asked for; measured.
enum { AHEAD = 2048 };

LK_INLINE u16x64 widened(const uint8_t *bytes) {
    u8x64 line;
    memcpy(&line, bytes, sizeof line);
    __builtin_prefetch(bytes + AHEAD);
    return __builtin_convertvector(line, u16x64);
}

// Adds `rows` neighboring rows to `out`, or begins it with them.
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

// Three rows at a time, whole: as many streams as the prefetchers follow at the speed of memory, and the
// sums stay in a near cache.
void RESIZE(sum_rows)(const uint8_t *source, ptrdiff_t stride, int32_t rows, size_t bytes,
                      uint16_t *out) {
    int32_t i = rows < 3 ? rows : 3;
    if (i == 3) add_rows(source, stride, 3, 1, bytes, out);
    else if (i == 2) add_rows(source, stride, 2, 1, bytes, out);
    else add_rows(source, stride, 1, 1, bytes, out);
    for (; i + 3 <= rows; i += 3) add_rows(source + i * stride, stride, 3, 0, bytes, out);
    if (rows - i == 2) add_rows(source + i * stride, stride, 2, 0, bytes, out);
    else if (rows - i == 1) add_rows(source + i * stride, stride, 1, 0, bytes, out);
}

typedef uint16_t u16x4 __attribute__((vector_size(8)));
typedef uint16_t u16x8 __attribute__((vector_size(16)));
typedef uint16_t u16x16 __attribute__((vector_size(32)));
typedef uint16_t u16x32 __attribute__((vector_size(64)));
typedef uint32_t u32x4 __attribute__((vector_size(16)));

LK_INLINE u16x4 load_pixel(const uint16_t *line) {
    u16x4 pixel;
    memcpy(&pixel, line, sizeof pixel);
    return pixel;
}

// One pixel a cell, or two: nothing is left over but at the end.
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
            const u16x16 pairs = __builtin_shufflevector(pixels, pixels, 0, 1, 2, 3, 8, 9, 10, 11, 16, 17, 18, 19, 24, 25, 26, 27) +
                                 __builtin_shufflevector(pixels, pixels, 4, 5, 6, 7, 12, 13, 14, 15, 20, 21, 22, 23, 28, 29, 30, 31);
            lk_store16(cells + (ptrdiff_t)x * 2, __builtin_convertvector(pairs, lk_f32x16));
        }
    return x;
}

// Pixels of four channels whose sums fit sixteen bits: eight at a time, folded.
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
            u16x16 four = __builtin_shufflevector(eight, eight, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15) +
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

LK_INLINE void sum_cells_of_four(const uint16_t *line, int32_t width, int32_t factor, float *cells) {
    for (int32_t x = 0; x < width; x += factor, cells += 4) {
        const int32_t end = x + factor < width ? x + factor : width;
        u32x4 sum = {0};
        for (int32_t i = x; i < end; i++)
            sum += __builtin_convertvector(load_pixel(line + (ptrdiff_t)i * 4), u32x4);
        lk_f32x4 value = __builtin_convertvector(sum, lk_f32x4);
        memcpy(cells, &value, sizeof value);
    }
}

// One pixel a cell, or two, of three channels each. A vector is read from every fourth or eighth pixel on, with the
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

// Pixels of three channels are read with the first of the next one's, which is not counted; of the last pixel
// there is no next one.
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

void RESIZE(sum_columns)(const uint16_t *line, int32_t channels, int32_t width, int32_t factor,
                         bool fits, float *cells) {
    if (channels == 4 && fits) sum_small_cells_of_four(line, width, factor, cells);
    else if (channels == 4) sum_cells_of_four(line, width, factor, cells);
    else if (channels == 3) sum_cells_of_three(line, width, factor, fits, cells);
    else sum_cells_of_one(line, width, factor, cells);
}

// Of the pixels from `x` on: whatever the vectors below leave over.
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
enum { PANEL = 8192, ROWS_AT_ONCE = 8 };

// Sixteen pixels at a time: bytes are put in the order of channels, neighbors added to sixteen bits
// (vpmaddubsw with ones), and those added down the rows, which are all read at once: as many streams are
// as much as the memory gives.
LK_INLINE void add_pixel_rows(const uint8_t *source, ptrdiff_t stride, const int rows, bool begins, int32_t pixels,
                              uint16_t *pairs) {
    const __m512i by_channel = _mm512_broadcast_i32x4(_mm_setr_epi8(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15));
    for (int32_t x = 0; x < pixels; x += 16) {
        __m512i sum = begins ? _mm512_setzero_si512() : _mm512_loadu_si512(pairs + x * 2);
#pragma clang loop unroll(full)
        for (int y = 0; y < rows; y++) {
            __m512i ordered = _mm512_shuffle_epi8(_mm512_loadu_si512(source + y * stride + (ptrdiff_t)x * 4), by_channel);
            sum = _mm512_add_epi16(sum, _mm512_maddubs_epi16(ordered, _mm512_set1_epi8(1)));
        }
        _mm512_storeu_si512(pairs + x * 2, sum);
    }
}

LK_INLINE void add_some_pixel_rows(const uint8_t *source, ptrdiff_t stride, int32_t rows, bool begins, int32_t pixels,
                                   uint16_t *pairs) {
    switch (rows) {
    case 1: add_pixel_rows(source, stride, 1, begins, pixels, pairs); break;
    case 2: add_pixel_rows(source, stride, 2, begins, pixels, pairs); break;
    case 3: add_pixel_rows(source, stride, 3, begins, pixels, pairs); break;
    case 4: add_pixel_rows(source, stride, 4, begins, pixels, pairs); break;
    case 5: add_pixel_rows(source, stride, 5, begins, pixels, pairs); break;
    case 6: add_pixel_rows(source, stride, 6, begins, pixels, pairs); break;
    case 7: add_pixel_rows(source, stride, 7, begins, pixels, pairs); break;
    default: add_pixel_rows(source, stride, 8, begins, pixels, pairs); break;
    }
}

void RESIZE(sum_cells)(const uint8_t *source, ptrdiff_t stride, int32_t rows, int32_t width, int32_t factor,
                       float *cells) {
    const int32_t parts = factor / 4;
    uint16_t pairs[PANEL * 2];
    u32x4 sum = {0};
    int32_t in_cell = 0, x = 0;
    float *cell = cells;
    while (x + 16 <= width) {
        const int32_t pixels = width - x < PANEL ? (width - x) / 16 * 16 : PANEL;
        for (int32_t y = 0; y < rows; y += ROWS_AT_ONCE)
            add_some_pixel_rows(source + y * stride + (ptrdiff_t)x * 4, stride, rows - y < ROWS_AT_ONCE ? rows - y : ROWS_AT_ONCE,
                                y == 0, pixels, pairs);
        for (int32_t i = 0; i < pixels; i += 16) {
            // Pairs of pairs: sums of four pixels, four times. A cell is `factor` / 4 of them.
            const __m512i fours = _mm512_madd_epi16(_mm512_loadu_si512(pairs + i * 2), _mm512_set1_epi16(1));
            if (parts == 1) {
                _mm512_storeu_ps(cell, _mm512_cvtepi32_ps(fours));
                cell += 16;
            } else if (parts == 2) {
                const __m512i eights = _mm512_add_epi32(fours, _mm512_shuffle_i32x4(fours, fours, 0xB1));
                const __m512i both = _mm512_shuffle_i32x4(eights, eights, 0x08);
                _mm256_storeu_ps(cell, _mm256_cvtepi32_ps(_mm512_castsi512_si256(both)));
                cell += 8;
            } else {
                u32x4 each[4];
                memcpy(each, &fours, sizeof each);
                for (int four = 0; four < 4; four++) {
                    sum += each[four];
                    if (++in_cell < parts) continue;
                    lk_f32x4 value = __builtin_convertvector(sum, lk_f32x4);
                    memcpy(cell, &value, sizeof value);
                    cell += 4;
                    sum = (u32x4){0};
                    in_cell = 0;
                }
            }
        }
        x += pixels;
    }
    // The cell that the last pixels ended in is begun anew.
    sum_cells_from(x - in_cell * 4, source, stride, rows, width, factor, cells);
}
#else
void RESIZE(sum_cells)(const uint8_t *source, ptrdiff_t stride, int32_t rows, int32_t width, int32_t factor,
                       float *cells) {
    sum_cells_from(0, source, stride, rows, width, factor, cells);
}
#endif

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

LK_INLINE lk_f32x4 ordered(lk_f32x4 pixel, const lk_channel_order order) {
    if (order == LK_ORDER_BGR) return __builtin_shufflevector(pixel, pixel, 2, 1, 0, 3);
    if (order == LK_ORDER_GRAY) return __builtin_shufflevector(pixel, pixel, 0, 0, 0, 3);
    return pixel;
}

LK_INLINE void write_ordered(const float *pixels, int32_t width, const lk_pixel_layout *layout, float *out,
                             const lk_channel_order order) {
    lk_f32x4 multiply, add;
    memcpy(&multiply, layout->multiply, sizeof multiply);
    memcpy(&add, layout->add, sizeof add);
    const float white = layout->premultiplied ? 255 : 0, alpha = layout->premultiplied ? 1 : 0;
    for (int32_t x = 0; x < width; x++, out += layout->pixel_stride) {
        lk_f32x4 pixel;
        memcpy(&pixel, pixels + (ptrdiff_t)x * 4, sizeof pixel);
        // What a premultiplied pixel leaves to the white behind it; linear, so it may come last.
        lk_f32x4 value = (ordered(pixel, order) + (white - alpha * pixel[3])) * multiply + add;
        memcpy(out, &value, 3 * sizeof(float));
    }
}

void RESIZE(write_pixels)(const float *pixels, int32_t width, const lk_pixel_layout *layout, float *out) {
    switch (layout->order) {
    case LK_ORDER_RGB: write_ordered(pixels, width, layout, out, LK_ORDER_RGB); break;
    case LK_ORDER_BGR: write_ordered(pixels, width, layout, out, LK_ORDER_BGR); break;
    case LK_ORDER_GRAY: write_ordered(pixels, width, layout, out, LK_ORDER_GRAY); break;
    }
}

void RESIZE(write_bytes)(const float *cells, float scale, size_t count, uint8_t *out) {
    size_t i = 0;
    for (; i + 16 <= count; i += 16) lk_store16_u8(out + i, lk_load16(cells + i) * scale);
    for (; i < count; i++) out[i] = lk_u8(cells[i] * scale);
}

void RESIZE(sample)(const float *pixels, int32_t width, int32_t height, const lk_projection *projection, int32_t row,
                    int32_t count, float *out) {
    const lk_f32x16 lanes = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};
    const lk_projection *p = projection;
    const float y = (float)row;
    for (int32_t first = 0; first < count; first += 16) {
        const lk_f32x16 x = lanes + (float)first;
        const lk_f32x16 w = 1 / (p->m[6] * x + (p->m[7] * y + p->m[8]));
        lk_f32x16 px = (p->m[0] * x + (p->m[1] * y + p->m[2])) * w;
        lk_f32x16 py = (p->m[3] * x + (p->m[4] * y + p->m[5])) * w;
        px = __builtin_elementwise_min(__builtin_elementwise_max(px, lk_splat16(0)), lk_splat16((float)(width - 1)));
        py = __builtin_elementwise_min(__builtin_elementwise_max(py, lk_splat16(0)), lk_splat16((float)(height - 1)));
        const lk_i32x16 left = __builtin_convertvector(px, lk_i32x16), top = __builtin_convertvector(py, lk_i32x16);
        const lk_f32x16 fx = px - __builtin_convertvector(left, lk_f32x16), fy = py - __builtin_convertvector(top, lk_f32x16);
        const int32_t present = count - first < 16 ? count - first : 16;
        for (int32_t i = 0; i < present; i++) {
            const float *corner = pixels + ((ptrdiff_t)top[i] * width + left[i]) * 4;
            const ptrdiff_t right = left[i] + 1 < width ? 4 : 0, below = top[i] + 1 < height ? (ptrdiff_t)width * 4 : 0;
            lk_f32x4 a, b, c, d;
            memcpy(&a, corner, sizeof a);
            memcpy(&b, corner + right, sizeof b);
            memcpy(&c, corner + below, sizeof c);
            memcpy(&d, corner + below + right, sizeof d);
            const lk_f32x4 upper = a + (b - a) * fx[i], lower = c + (d - c) * fx[i];
            const lk_f32x4 value = upper + (lower - upper) * fy[i];
            memcpy(out + (ptrdiff_t)(first + i) * 4, &value, sizeof value);
        }
    }
}
