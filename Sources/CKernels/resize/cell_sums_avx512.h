// The box filter in one pass, rows and columns together, for factors that are multiples of four.

enum { PANEL = 8192, ROWS_AT_ONCE = 8 };

// Sixteen pixels at a time: a shuffle groups the bytes by channel, vpmaddubsw with ones adds neighbors to 16 bits, and
// these are added over the rows. All rows are read at once: that many streams saturate the memory bandwidth.
LK_INLINE void add_pixel_rows(const uint8_t *source, ptrdiff_t stride, const int rows, bool begins, int32_t pixels,
                              uint16_t *pairs) {
    const __m512i by_channel =
        _mm512_broadcast_i32x4(_mm_setr_epi8(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15));
    for (int32_t x = 0; x < pixels; x += 16) {
        __m512i sum = begins ? _mm512_setzero_si512() : _mm512_loadu_si512(pairs + x * 2);
#pragma clang loop unroll(full)
        for (int y = 0; y < rows; y++) {
            __m512i ordered =
                _mm512_shuffle_epi8(_mm512_loadu_si512(source + y * stride + (ptrdiff_t)x * 4), by_channel);
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

void KERNEL(sum_cells)(const uint8_t *source, ptrdiff_t stride, int32_t rows, int32_t width, int32_t factor,
                       float *cells) {
    const int32_t parts = factor / 4;
    uint16_t pairs[PANEL * 2];
    u32x4 sum = {0};
    int32_t in_cell = 0, x = 0;
    float *cell = cells;
    while (x + 16 <= width) {
        const int32_t pixels = width - x < PANEL ? (width - x) / 16 * 16 : PANEL;
        for (int32_t y = 0; y < rows; y += ROWS_AT_ONCE)
            add_some_pixel_rows(source + y * stride + (ptrdiff_t)x * 4, stride,
                                rows - y < ROWS_AT_ONCE ? rows - y : ROWS_AT_ONCE, y == 0, pixels, pairs);
        for (int32_t i = 0; i < pixels; i += 16) {
            // Four sums of four pixels; a cell is `factor` / 4 of them.
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
    // Recomputes the cell that the last vector ended in.
    sum_cells_from(x - in_cell * 4, source, stride, rows, width, factor, cells);
}
