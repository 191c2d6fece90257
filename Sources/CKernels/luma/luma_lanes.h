// The luma of a row of pixels, sixteen at a time, and a filter along a row of it.

typedef uint32_t u32x16 __attribute__((vector_size(64)));

// Four bytes of a pixel, lowest first.
LK_INLINE lk_f32x16 weigh_channels(u32x16 pixels, const float *weights) {
    const u32x16 byte = {255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255};
    lk_f32x16 sum = __builtin_convertvector((lk_i32x16)(pixels & byte), lk_f32x16) * lk_splat16(weights[0]);
    sum += __builtin_convertvector((lk_i32x16)(pixels >> 8 & byte), lk_f32x16) * lk_splat16(weights[1]);
    sum += __builtin_convertvector((lk_i32x16)(pixels >> 16 & byte), lk_f32x16) * lk_splat16(weights[2]);
    return sum + __builtin_convertvector((lk_i32x16)(pixels >> 24), lk_f32x16) * lk_splat16(weights[3]);
}

// Sixteen pixels of three bytes, each with a zero behind it: to every quarter of the vector first, then inside it.
LK_INLINE u32x16 widen_pixels(const uint8_t *source) {
    u32x16 packed;
    memcpy(&packed, source, sizeof packed);
    const u32x16 quarters = __builtin_shufflevector(packed, packed, 0, 1, 2, 2, 3, 4, 5, 5, 6, 7, 8, 8, 9, 10, 11, 11);
    const lk_u8x64 bytes = (lk_u8x64)quarters, zero = {0};
    return (u32x16)__builtin_shufflevector(bytes, zero, 0, 1, 2, 64, 3, 4, 5, 64, 6, 7, 8, 64, 9, 10, 11, 64, 16, 17,
                                           18, 64, 19, 20, 21, 64, 22, 23, 24, 64, 25, 26, 27, 64, 32, 33, 34, 64, 35,
                                           36, 37, 64, 38, 39, 40, 64, 41, 42, 43, 64, 48, 49, 50, 64, 51, 52, 53, 64,
                                           54, 55, 56, 64, 57, 58, 59, 64);
}

void KERNEL(luma_row)(const uint8_t *source, int32_t channels, const float *weights, int32_t width, float *out) {
    int32_t x = 0;
    if (channels == 4) {
        for (; x + 16 <= width; x += 16) {
            u32x16 pixels;
            memcpy(&pixels, source + (ptrdiff_t)x * 4, sizeof pixels);
            lk_store16(out + x, weigh_channels(pixels, weights));
        }
    } else if (channels == 3) {
        // 64 bytes are read for 48.
        for (; x + 22 <= width; x += 16)
            lk_store16(out + x, weigh_channels(widen_pixels(source + (ptrdiff_t)x * 3), weights));
    } else {
        for (; x + 16 <= width; x += 16) {
            lk_u8x16 pixels;
            memcpy(&pixels, source + x, sizeof pixels);
            lk_store16(out + x, __builtin_convertvector(pixels, lk_f32x16) * lk_splat16(weights[0]));
        }
    }
    for (; x < width; x++) {
        float sum = 0;
        for (int32_t channel = 0; channel < channels; channel++)
            sum += weights[channel] * (float)source[(ptrdiff_t)x * channels + channel];
        out[x] = sum;
    }
}

#if defined(__x86_64__)
// The products of at most eight cells with their weights.
LK_INLINE __m256 weigh_cells(const float *cells, lk_filter_span span, const float *weights) {
#if defined(LK_AVX512)
    const __mmask8 used = (__mmask8)((1u << span.count) - 1);
    return _mm256_mul_ps(_mm256_maskz_loadu_ps(used, cells + span.first),
                         _mm256_maskz_loadu_ps(used, weights + span.offset));
#else
    // As many lanes as the span has cells, the first ones.
    static const int32_t lanes[16] = {-1, -1, -1, -1, -1, -1, -1, -1};
    const __m256i used = _mm256_loadu_si256((const __m256i *)(lanes + 8 - span.count));
    return _mm256_mul_ps(_mm256_maskload_ps(cells + span.first, used), _mm256_maskload_ps(weights + span.offset, used));
#endif
}
#endif

void KERNEL(filter_row)(const float *cells, const lk_filter_span *spans, const float *weights, int32_t width,
                        float *out) {
    int32_t x = 0;
    while (x < width) {
#if defined(__x86_64__)
        if (x + 4 <= width && spans[x].count <= 8 && spans[x + 1].count <= 8 && spans[x + 2].count <= 8 &&
            spans[x + 3].count <= 8) {
            const __m256 first =
                _mm256_hadd_ps(weigh_cells(cells, spans[x], weights), weigh_cells(cells, spans[x + 1], weights));
            const __m256 second =
                _mm256_hadd_ps(weigh_cells(cells, spans[x + 2], weights), weigh_cells(cells, spans[x + 3], weights));
            const __m256 sums = _mm256_hadd_ps(first, second);
            _mm_storeu_ps(out + x, _mm_add_ps(_mm256_castps256_ps128(sums), _mm256_extractf128_ps(sums, 1)));
            x += 4;
            continue;
        }
#endif
        const lk_filter_span span = spans[x];
        const float *cell = cells + span.first, *weight = weights + span.offset;
        float sum = 0;
        for (int32_t i = 0; i < span.count; i++) sum += cell[i] * weight[i];
        out[x++] = sum;
    }
}
