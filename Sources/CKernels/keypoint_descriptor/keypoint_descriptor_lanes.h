// Gradient histograms of a patch around a keypoint, a row of sixteen samples at a time.

// A margin of one sample on every side, for central differences; whole vectors of samples, and what a load of the last
// row reads behind them.
enum { SIDE = LK_PATCH_SIDE, SAMPLES = SIDE + 2, VECTORS = (SAMPLES * SAMPLES + 15) / 16, PADDED = VECTORS * 16 + 16 };

LK_INLINE lk_f32x16 clamp_to(lk_f32x16 v, float limit) {
    return lk_min16(__builtin_elementwise_max(v, lk_splat16(0)), lk_splat16(limit));
}

LK_INLINE lk_f32x16 lane_numbers(void) { return (lk_f32x16){0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15}; }

// Neighbors in a row at sixteen places.
LK_INLINE void load_pairs(const float *pixels, lk_i32x16 at, lk_f32x16 *left, lk_f32x16 *right) {
#if defined(LK_AVX512)
    const __m512 low = (__m512)_mm512_i32gather_pd(_mm512_castsi512_si256((__m512i)at), pixels, 4);
    const __m512 high = (__m512)_mm512_i32gather_pd(_mm512_extracti64x4_epi64((__m512i)at, 1), pixels, 4);
    *left = __builtin_shufflevector((lk_f32x16)low, (lk_f32x16)high, 0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26,
                                    28, 30);
    *right = __builtin_shufflevector((lk_f32x16)low, (lk_f32x16)high, 1, 3, 5, 7, 9, 11, 13, 15, 17, 19, 21, 23, 25, 27,
                                     29, 31);
#else
    float pairs[32];
    for (int lane = 0; lane < 16; lane++) memcpy(pairs + 2 * lane, pixels + at[lane], 2 * sizeof(float));
    const lk_f32x16 low = lk_load16(pairs), high = lk_load16(pairs + 16);
    *left = __builtin_shufflevector(low, high, 0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30);
    *right = __builtin_shufflevector(low, high, 1, 3, 5, 7, 9, 11, 13, 15, 17, 19, 21, 23, 25, 27, 29, 31);
#endif
}

// The samples of the patch, row after row, bilinear.
LK_INLINE void sample_patch(const lk_patch *patch, float *samples) {
    const float first = -(SAMPLES - 1) * 0.5f;
    const float step_x = patch->spacing * patch->cosine, step_y = patch->spacing * patch->sine;
    const float right = (float)(patch->plane.width - 1) - 0.001f, bottom = (float)(patch->plane.height - 1) - 0.001f;
    const ptrdiff_t stride = patch->plane.stride;
    for (int i = 0; i < VECTORS; i++) {
        // The row of the sample's number: exact, since a reciprocal is off by less than the numbers are apart.
        const lk_f32x16 number = lane_numbers() + lk_splat16((float)(16 * i));
        const lk_f32x16 row = __builtin_elementwise_trunc((number + lk_splat16(0.5f)) * lk_splat16(1.0f / SAMPLES));
        const lk_f32x16 u = number - row * lk_splat16(SAMPLES) + lk_splat16(first), v = row + lk_splat16(first);
        // Just inside the last pixel, so that its right and lower neighbors are pixels too.
        const lk_f32x16 x = clamp_to(lk_splat16(patch->x) + u * lk_splat16(step_x) - v * lk_splat16(step_y), right);
        const lk_f32x16 y = clamp_to(lk_splat16(patch->y) + u * lk_splat16(step_y) + v * lk_splat16(step_x), bottom);
        const lk_i32x16 column = __builtin_convertvector(x, lk_i32x16), line = __builtin_convertvector(y, lk_i32x16);
        const lk_f32x16 fx = x - __builtin_convertvector(column, lk_f32x16);
        const lk_f32x16 fy = y - __builtin_convertvector(line, lk_f32x16);
        const lk_i32x16 at = line * (int32_t)stride + column;
        lk_f32x16 a, b, c, d;
        load_pairs(patch->plane.pixels, at, &a, &b);
        load_pairs(patch->plane.pixels + stride, at, &c, &d);
        const lk_f32x16 above = a + (b - a) * fx, below = c + (d - c) * fx;
        lk_store16(samples + 16 * i, above + (below - above) * fy);
    }
}

// The most pixels that a line of an upright patch spans.
enum { REACH = 48 };

// The samples of a patch that is not turned: each row is a line between two rows of pixels, sampled at the same places.
LK_INLINE void sample_upright_patch(const lk_patch *patch, float *samples) {
    const float first = -(SAMPLES - 1) * 0.5f, spacing = patch->spacing;
    const float right = (float)(patch->plane.width - 1) - 0.001f, bottom = (float)(patch->plane.height - 1) - 0.001f;
    const ptrdiff_t stride = patch->plane.stride;
    // The places along a line: sixteen, and the last two.
    lk_f32x16 fx[2];
    lk_i32x16 column[2];
    for (int i = 0; i < 2; i++) {
        const lk_f32x16 u = lane_numbers() + lk_splat16(first + (float)(i * (SAMPLES - 16)));
        const lk_f32x16 x = clamp_to(lk_splat16(patch->x) + u * lk_splat16(spacing), right);
        column[i] = __builtin_convertvector(x, lk_i32x16);
        fx[i] = x - __builtin_convertvector(column[i], lk_f32x16);
    }
    const int32_t begin = column[0][0], count = column[1][15] + 2 - begin;
    for (int i = 0; i < 2; i++) column[i] -= begin;
    float line[REACH + 16] = {0};
    for (int row = 0; row < SAMPLES; row++) {
        float y = patch->y + (first + (float)row) * spacing;
        y = y < 0 ? 0 : y > bottom ? bottom : y;
        const int32_t line_number = (int32_t)y;
        const lk_f32x16 fy = lk_splat16(y - (float)line_number);
        const float *pixels = patch->plane.pixels + line_number * stride + begin;
        for (int32_t x = 0; x < count; x += 16) {
            const lk_f32x16 above = lk_load16(pixels + x), below = lk_load16(pixels + stride + x);
            lk_store16(line + x, above + (below - above) * fy);
        }
        for (int i = 0; i < 2; i++) {
            lk_f32x16 a, b;
#if defined(LK_AVX512)
            const __m512 v0 = _mm512_loadu_ps(line), v1 = _mm512_loadu_ps(line + 16), v2 = _mm512_loadu_ps(line + 32);
            const __m512i at = (__m512i)column[i], next = _mm512_add_epi32(at, _mm512_set1_epi32(1));
            a = (lk_f32x16)_mm512_mask_permutexvar_ps(_mm512_permutex2var_ps(v0, at, v1),
                                                      _mm512_cmpge_epi32_mask(at, _mm512_set1_epi32(32)), at, v2);
            b = (lk_f32x16)_mm512_mask_permutexvar_ps(_mm512_permutex2var_ps(v0, next, v1),
                                                      _mm512_cmpge_epi32_mask(next, _mm512_set1_epi32(32)), next, v2);
#else
            load_pairs(line, column[i], &a, &b);
#endif
            lk_store16(samples + row * SAMPLES + i * (SAMPLES - 16), a + (b - a) * fx[i]);
        }
    }
}

// The gradients of a row of the patch, in its own axes.
LK_INLINE void gradients(const float *samples, int row, lk_f32x16 *across, lk_f32x16 *down) {
    const float *p = samples + (row + 1) * SAMPLES + 1;
    *across = lk_load16(p + 1) - lk_load16(p - 1);
    *down = lk_load16(p + SAMPLES) - lk_load16(p - SAMPLES);
}

// The angle of (x, y) in histogram bins, 0...LK_ORIENTATION_BINS. The polynomial is a minimax approximation of
// atan on 0...1 with an error below 2e-4.
LK_INLINE lk_f32x16 angle_in_bins(lk_f32x16 x, lk_f32x16 y) {
    lk_f32x16 ax = __builtin_elementwise_abs(x), ay = __builtin_elementwise_abs(y);
    lk_f32x16 high = lk_max16(ax, ay), low = lk_min16(ax, ay);
    lk_f32x16 a = low / (high + lk_splat16(1e-30f)), s = a * a;
    lk_f32x16 angle =
        ((lk_splat16(-0.0464964749f) * s + lk_splat16(0.15931422f)) * s - lk_splat16(0.327622764f)) * s * a + a;
    angle = lk_choose(ay > ax, lk_splat16(1.57079633f) - angle, angle);
    angle = lk_choose(x < lk_splat16(0), lk_splat16(3.14159265f) - angle, angle);
    angle = lk_choose(y < lk_splat16(0), lk_splat16(6.28318531f) - angle, angle);
    return angle * lk_splat16(LK_ORIENTATION_BINS / 6.28318531f);
}

// Sums of neighboring bins, kept apart: a bin's own share, and what it passes to the next one. Four histograms take
// turns, so that no sum waits for the one before.
typedef float lk_f32x2 __attribute__((vector_size(8)));
enum { TURNS = 4 };

void KERNEL(orientation_histogram)(const lk_patch *patch, const float *window, float *histogram) {
    float samples[PADDED];
    const bool is_upright = patch->sine == 0 && patch->cosine > 0 && patch->spacing * (SAMPLES - 1) + 3 < REACH;
    if (is_upright) sample_upright_patch(patch, samples);
    else sample_patch(patch, samples);
    lk_f32x2 sums[TURNS][LK_ORIENTATION_BINS + 1];
    memset(sums, 0, sizeof sums);
    for (int row = 0; row < SIDE; row++) {
        lk_f32x16 gx, gy;
        gradients(samples, row, &gx, &gy);
        lk_f32x16 weight = __builtin_elementwise_sqrt(gx * gx + gy * gy) * lk_load16(window + row * SIDE);
        lk_f32x16 place = angle_in_bins(gx, gy);
        lk_i32x16 bin = __builtin_convertvector(place, lk_i32x16);
        lk_f32x16 upper = (place - __builtin_convertvector(bin, lk_f32x16)) * weight, lower = weight - upper;
        // The end of the turn is its beginning.
        int32_t bins[16];
        memcpy(bins, &bin, sizeof bins);
        lk_f32x2 shares[16];
        const lk_f32x16 begin =
            __builtin_shufflevector(lower, upper, 0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23);
        const lk_f32x16 end =
            __builtin_shufflevector(lower, upper, 8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31);
        memcpy(shares, &begin, sizeof begin);
        memcpy(shares + 8, &end, sizeof end);
        for (int lane = 0; lane < 16; lane++) sums[lane % TURNS][bins[lane]] += shares[lane];
    }
    for (int turn = 1; turn < TURNS; turn++)
        for (int bin = 0; bin <= LK_ORIENTATION_BINS; bin++) sums[0][bin] += sums[turn][bin];
    sums[0][0] += sums[0][LK_ORIENTATION_BINS];
    for (int bin = 0; bin < LK_ORIENTATION_BINS; bin++)
        histogram[bin] = sums[0][bin][0] + sums[0][bin > 0 ? bin - 1 : LK_ORIENTATION_BINS - 1][1];
}

// The sums of the lanes of sixteen vectors.
LK_INLINE lk_f32x16 sums_of_lanes(const lk_f32x16 v[16]) {
    lk_f32x16 a[8], b[4];
    for (int i = 0; i < 8; i++) {
        const lk_f32x16 p = v[2 * i], q = v[2 * i + 1];
        a[i] = __builtin_shufflevector(p, q, 0, 16, 1, 17, 4, 20, 5, 21, 8, 24, 9, 25, 12, 28, 13, 29) +
               __builtin_shufflevector(p, q, 2, 18, 3, 19, 6, 22, 7, 23, 10, 26, 11, 27, 14, 30, 15, 31);
    }
    for (int i = 0; i < 4; i++) {
        const lk_f32x16 p = a[2 * i], q = a[2 * i + 1];
        b[i] = __builtin_shufflevector(p, q, 0, 1, 16, 17, 4, 5, 20, 21, 8, 9, 24, 25, 12, 13, 28, 29) +
               __builtin_shufflevector(p, q, 2, 3, 18, 19, 6, 7, 22, 23, 10, 11, 26, 27, 14, 15, 30, 31);
    }
    // Now a quarter of each holds sums of a quarter of four vectors.
    const lk_f32x16 c = __builtin_shufflevector(b[0], b[1], 0, 1, 2, 3, 8, 9, 10, 11, 16, 17, 18, 19, 24, 25, 26, 27) +
                        __builtin_shufflevector(b[0], b[1], 4, 5, 6, 7, 12, 13, 14, 15, 20, 21, 22, 23, 28, 29, 30, 31);
    const lk_f32x16 d = __builtin_shufflevector(b[2], b[3], 0, 1, 2, 3, 8, 9, 10, 11, 16, 17, 18, 19, 24, 25, 26, 27) +
                        __builtin_shufflevector(b[2], b[3], 4, 5, 6, 7, 12, 13, 14, 15, 20, 21, 22, 23, 28, 29, 30, 31);
    return __builtin_shufflevector(c, d, 0, 1, 2, 3, 8, 9, 10, 11, 16, 17, 18, 19, 24, 25, 26, 27) +
           __builtin_shufflevector(c, d, 4, 5, 6, 7, 12, 13, 14, 15, 20, 21, 22, 23, 28, 29, 30, 31);
}

void KERNEL(gradient_descriptor)(const lk_patch *patch, const float *window, float *descriptor) {
    static const float directions[8][2] = {{1, 0},  {0.70710678f, 0.70710678f},   {0, 1},  {-0.70710678f, 0.70710678f},
                                           {-1, 0}, {-0.70710678f, -0.70710678f}, {0, -1}, {0.70710678f, -0.70710678f}};
    float samples[PADDED];
    sample_patch(patch, samples);
    lk_f32x16 sums[4][8];
    memset(sums, 0, sizeof sums);
    for (int row = 0; row < SIDE; row++) {
        lk_f32x16 gx, gy;
        gradients(samples, row, &gx, &gy);
        lk_f32x16 length = __builtin_elementwise_sqrt(gx * gx + gy * gy + lk_splat16(1e-12f));
        lk_f32x16 inverse = lk_splat16(1) / length, weight = length * lk_load16(window + row * SIDE);
        // The row's place between the centers of the four rows of cells.
        const float place = ((float)row + 0.5f) / 4 - 0.5f;
        // Opposite directions have opposite cosines.
        for (int k = 0; k < 4; k++) {
            const lk_f32x16 cosine = (gx * lk_splat16(directions[k][0]) + gy * lk_splat16(directions[k][1])) * inverse;
            // The eighth power is as wide as the linear weights of SIFT and needs no angle.
            lk_f32x16 power = cosine * cosine;
            power *= power;
            power *= power * weight;
            const lk_i32x16 ahead = cosine > lk_splat16(0);
            const lk_f32x16 values[2] = {lk_choose(ahead, power, lk_splat16(0)),
                                         lk_choose(ahead, lk_splat16(0), power)};
            for (int cell = 0; cell < 4; cell++) {
                const float share = 1 - fabsf(place - (float)cell);
                if (share <= 0) continue;
                sums[cell][k] += values[0] * lk_splat16(share);
                sums[cell][k + 4] += values[1] * lk_splat16(share);
            }
        }
    }
    for (int cell = 0; cell < 4; cell += 2) {
        float shares[2][16];
        for (int i = 0; i < 16; i++) {
            shares[0][i] = fmaxf(0, 1 - fabsf(((float)i + 0.5f) / 4 - 0.5f - (float)cell));
            shares[1][i] = fmaxf(0, 1 - fabsf(((float)i + 0.5f) / 4 - 0.5f - (float)(cell + 1)));
        }
        for (int row = 0; row < 4; row++) {
            lk_f32x16 weighed[16];
            for (int k = 0; k < 8; k++) {
                weighed[k] = sums[row][k] * lk_load16(shares[0]);
                weighed[k + 8] = sums[row][k] * lk_load16(shares[1]);
            }
            lk_store16(descriptor + (row * 4 + cell) * 8, sums_of_lanes(weighed));
        }
    }
}
