// Gaussian blur and extrema of differences of Gaussians, sixteen pixels at a time.

// Columns of a strip of the vertical pass: the rows under its kernel stay in the first-level cache. Rows of a band, on
// which the horizontal pass follows while they are in the second-level cache.
enum { STRIP = 128, BAND = 16 };

// Weighs 2 * radius + 1 rows, for `columns` pixels (a multiple of 16) from column `x` on.
LK_INLINE void weigh_rows(const float *const *rows, const float *taps, int32_t radius, int32_t x, int32_t columns,
                          float *out) {
    for (; columns >= 64; columns -= 64, x += 64, out += 64) {
        const float *center = rows[radius] + x;
        lk_f32x16 tap = lk_splat16(taps[0]);
        lk_f32x16 a = lk_load16(center) * tap, b = lk_load16(center + 16) * tap;
        lk_f32x16 c = lk_load16(center + 32) * tap, d = lk_load16(center + 48) * tap;
        for (int32_t k = 1; k <= radius; k++) {
            const float *p = rows[radius - k] + x, *q = rows[radius + k] + x;
            tap = lk_splat16(taps[k]);
            a = __builtin_elementwise_fma(lk_load16(p) + lk_load16(q), tap, a);
            b = __builtin_elementwise_fma(lk_load16(p + 16) + lk_load16(q + 16), tap, b);
            c = __builtin_elementwise_fma(lk_load16(p + 32) + lk_load16(q + 32), tap, c);
            d = __builtin_elementwise_fma(lk_load16(p + 48) + lk_load16(q + 48), tap, d);
        }
        lk_store16(out, a);
        lk_store16(out + 16, b);
        lk_store16(out + 32, c);
        lk_store16(out + 48, d);
    }
    for (; columns > 0; columns -= 16, x += 16, out += 16) {
        lk_f32x16 sum = lk_load16(rows[radius] + x) * lk_splat16(taps[0]);
        for (int32_t k = 1; k <= radius; k++)
            sum = __builtin_elementwise_fma(lk_load16(rows[radius - k] + x) + lk_load16(rows[radius + k] + x),
                                            lk_splat16(taps[k]), sum);
        lk_store16(out, sum);
    }
}

void KERNEL(gaussian_blur)(const lk_plane *source, const float *taps, int32_t radius, float *line, float *out,
                           float *difference) {
    const ptrdiff_t stride = source->stride;
    const int32_t width = source->width, height = source->height, columns = (width + 15) / 16 * 16;
    for (int32_t top = 0; top < height; top += BAND) {
        const int32_t bottom = height - top < BAND ? height : top + BAND;
        const float *rows[2 * LK_LARGEST_BLUR_RADIUS + 1];
        for (int32_t x = 0; x < columns; x += STRIP)
            for (int32_t y = top; y < bottom; y++) {
                for (int32_t k = -radius; k <= radius; k++) {
                    int32_t row = y + k < 0 ? 0 : y + k >= height ? height - 1 : y + k;
                    rows[k + radius] = source->pixels + row * stride;
                }
                weigh_rows(rows, taps, radius, x, columns - x < STRIP ? columns - x : STRIP, out + y * stride + x);
            }
        float *row = line + LK_LARGEST_BLUR_RADIUS;
        for (int32_t k = -radius; k <= radius; k++) rows[k + radius] = row + k;
        for (int32_t y = top; y < bottom; y++) {
            float *result = out + y * stride;
            memcpy(row, result, (size_t)width * sizeof(float));
            for (int32_t k = 1; k <= radius; k++) row[-k] = row[0];
            for (int32_t x = width; x < columns + radius; x++) row[x] = row[width - 1];
            weigh_rows(rows, taps, radius, 0, columns, result);
            if (!difference) continue;
            for (int32_t x = 0; x < columns; x += 16)
                lk_store16(difference + y * stride + x,
                           lk_load16(result + x) - lk_load16(source->pixels + y * stride + x));
        }
    }
}

size_t KERNEL(scale_space_extrema)(const float *const planes[3], ptrdiff_t stride, int32_t width, int32_t height,
                                   int32_t border, float threshold, lk_pixel *found, size_t capacity) {
    size_t count = 0;
    for (int32_t y = border; y < height - border; y++) {
        for (int32_t x = border; x < width - border; x += 16) {
            const ptrdiff_t at = y * stride + x;
            lk_f32x16 value = lk_load16(planes[1] + at);
            lk_i32x16 high = value > lk_splat16(threshold), low = value < lk_splat16(-threshold);
            if (!__builtin_reduce_or(high | low)) continue;
            for (int plane = 0; plane < 3; plane++)
                for (int dy = -1; dy <= 1; dy++)
                    for (int dx = -1; dx <= 1; dx++) {
                        if (plane == 1 && dy == 0 && dx == 0) continue;
                        lk_f32x16 other = lk_load16(planes[plane] + at + dy * stride + dx);
                        high &= value >= other;
                        low &= value <= other;
                    }
            lk_i32x16 extreme = high | low;
            if (!__builtin_reduce_or(extreme)) continue;
            for (int lane = 0; lane < 16 && x + lane < width - border; lane++) {
                if (!extreme[lane]) continue;
                if (count == capacity) return count;
                found[count++] = (lk_pixel){x + lane, y};
            }
        }
    }
    return count;
}
