// The box filter in one pass, rows and columns together, for factors that are multiples of four.

enum { PANEL = 8192, ROWS_TOGETHER = 8 };

// A vector of pixels: a shuffle groups the bytes of four pixels by channel, vpmaddubsw with ones adds neighbors to 16
// bits, and vpmaddwd adds these to sums of four pixels.
#if defined(LK_AVX512)
enum { VECTOR_PIXELS = 16 };
typedef __m512i pixel_sums;
LK_INLINE pixel_sums load_pixel_pairs(const uint16_t *sums) { return _mm512_loadu_si512(sums); }
LK_INLINE void store_pixel_pairs(uint16_t *sums, pixel_sums values) { _mm512_storeu_si512(sums, values); }
LK_INLINE pixel_sums add_pixel_pairs(pixel_sums sums, const uint8_t *source) {
    const __m512i by_channel =
        _mm512_broadcast_i32x4(_mm_setr_epi8(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15));
    const __m512i ordered = _mm512_shuffle_epi8(_mm512_loadu_si512(source), by_channel);
    return _mm512_add_epi16(sums, _mm512_maddubs_epi16(ordered, _mm512_set1_epi8(1)));
}
LK_INLINE pixel_sums sums_of_fours(pixel_sums pairs) { return _mm512_madd_epi16(pairs, _mm512_set1_epi16(1)); }
// The cells of four or of eight pixels in a vector.
LK_INLINE void store_fours(float *cells, pixel_sums fours) { _mm512_storeu_ps(cells, _mm512_cvtepi32_ps(fours)); }
LK_INLINE void store_eights(float *cells, pixel_sums fours) {
    const __m512i eights = _mm512_add_epi32(fours, _mm512_shuffle_i32x4(fours, fours, 0xB1));
    const __m512i both = _mm512_shuffle_i32x4(eights, eights, 0x08);
    _mm256_storeu_ps(cells, _mm256_cvtepi32_ps(_mm512_castsi512_si256(both)));
}
#else
enum { VECTOR_PIXELS = 8 };
typedef __m256i pixel_sums;
LK_INLINE pixel_sums load_pixel_pairs(const uint16_t *sums) { return _mm256_loadu_si256((const __m256i *)sums); }
LK_INLINE void store_pixel_pairs(uint16_t *sums, pixel_sums values) { _mm256_storeu_si256((__m256i *)sums, values); }
LK_INLINE pixel_sums add_pixel_pairs(pixel_sums sums, const uint8_t *source) {
    const __m256i by_channel =
        _mm256_broadcastsi128_si256(_mm_setr_epi8(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15));
    const __m256i ordered = _mm256_shuffle_epi8(_mm256_loadu_si256((const __m256i *)source), by_channel);
    return _mm256_add_epi16(sums, _mm256_maddubs_epi16(ordered, _mm256_set1_epi8(1)));
}
LK_INLINE pixel_sums sums_of_fours(pixel_sums pairs) { return _mm256_madd_epi16(pairs, _mm256_set1_epi16(1)); }
// The cells of four or of eight pixels in a vector.
LK_INLINE void store_fours(float *cells, pixel_sums fours) { _mm256_storeu_ps(cells, _mm256_cvtepi32_ps(fours)); }
LK_INLINE void store_eights(float *cells, pixel_sums fours) {
    const __m128i eight = _mm_add_epi32(_mm256_castsi256_si128(fours), _mm256_extracti128_si256(fours, 1));
    _mm_storeu_ps(cells, _mm_cvtepi32_ps(eight));
}
#endif

// Sums of pairs of pixels over rows. All rows are read at once: that many streams saturate the memory bandwidth.
LK_INLINE void add_pixel_rows(const uint8_t *source, ptrdiff_t stride, const int rows, bool begins, int32_t pixels,
                              uint16_t *pairs) {
    for (int32_t x = 0; x < pixels; x += VECTOR_PIXELS) {
        pixel_sums sum = begins ? (pixel_sums){0} : load_pixel_pairs(pairs + x * 2);
#pragma clang loop unroll(full)
        for (int y = 0; y < rows; y++) sum = add_pixel_pairs(sum, source + y * stride + (ptrdiff_t)x * 4);
        store_pixel_pairs(pairs + x * 2, sum);
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
    while (x + VECTOR_PIXELS <= width) {
        const int32_t pixels = width - x < PANEL ? (width - x) / VECTOR_PIXELS * VECTOR_PIXELS : PANEL;
        for (int32_t y = 0; y < rows; y += ROWS_TOGETHER)
            add_some_pixel_rows(source + y * stride + (ptrdiff_t)x * 4, stride,
                                rows - y < ROWS_TOGETHER ? rows - y : ROWS_TOGETHER, y == 0, pixels, pairs);
        for (int32_t i = 0; i < pixels; i += VECTOR_PIXELS) {
            const pixel_sums fours = sums_of_fours(load_pixel_pairs(pairs + i * 2));
            if (parts == 1) {
                store_fours(cell, fours);
                cell += VECTOR_PIXELS;
            } else if (parts == 2) {
                store_eights(cell, fours);
                cell += VECTOR_PIXELS / 2;
            } else {
                u32x4 each[VECTOR_PIXELS / 4];
                memcpy(each, &fours, sizeof each);
                for (int four = 0; four < VECTOR_PIXELS / 4; four++) {
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
