// Gradient histograms of a patch around a keypoint, a row of sixteen samples at a time.

// A margin of one sample on every side, for central differences; rows are padded to two vectors.
enum { SIDE = LK_PATCH_SIDE, SAMPLES = SIDE + 2, PITCH = 32 };

LK_INLINE lk_f32x16 clamp_to(lk_f32x16 v, float limit) {
    return __builtin_elementwise_min(__builtin_elementwise_max(v, lk_splat16(0)), lk_splat16(limit));
}

#if defined(LK_AVX512)
LK_INLINE lk_f32x16 gather(const float *floats, lk_i32x16 indices) {
    return (lk_f32x16)_mm512_i32gather_ps((__m512i)indices, floats, 4);
}
#endif

// `used` samples in the direction (step_x, step_y) from (x, y) on, bilinear.
LK_INLINE lk_f32x16 sample_line(const lk_patch *patch, float x, float y, float step_x, float step_y, const int used) {
    const lk_f32x16 lanes = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};
    // Just inside the last pixel, so that its right and lower neighbors are pixels too.
    lk_f32x16 px = clamp_to(lk_splat16(x) + lanes * lk_splat16(step_x), (float)(patch->plane.width - 1) - 0.001f);
    lk_f32x16 py = clamp_to(lk_splat16(y) + lanes * lk_splat16(step_y), (float)(patch->plane.height - 1) - 0.001f);
    lk_i32x16 column = __builtin_convertvector(px, lk_i32x16), row = __builtin_convertvector(py, lk_i32x16);
    lk_f32x16 fx = px - __builtin_convertvector(column, lk_f32x16), fy = py - __builtin_convertvector(row, lk_f32x16);
    const ptrdiff_t stride = patch->plane.stride;
    lk_i32x16 at = row * (int32_t)stride + column;
    lk_f32x16 a = {0}, b = {0}, c = {0}, d = {0};
#if defined(LK_AVX512)
    if (used == 16) {
        const float *pixels = patch->plane.pixels;
        a = gather(pixels, at);
        b = gather(pixels + 1, at);
        c = gather(pixels + stride, at);
        d = gather(pixels + stride + 1, at);
    } else
#endif
        for (int lane = 0; lane < used; lane++) {
            const float *p = patch->plane.pixels + at[lane];
            a[lane] = p[0];
            b[lane] = p[1];
            c[lane] = p[stride];
            d[lane] = p[stride + 1];
        }
    lk_f32x16 top = a + (b - a) * fx, bottom = c + (d - c) * fx;
    return top + (bottom - top) * fy;
}

LK_INLINE void sample_patch(const lk_patch *patch, float *samples) {
    const float first = -(SAMPLES - 1) * 0.5f;
    const float step_x = patch->spacing * patch->cosine, step_y = patch->spacing * patch->sine;
    for (int row = 0; row < SAMPLES; row++) {
        const float v = first + (float)row;
        const float x = patch->x + first * step_x - v * step_y, y = patch->y + first * step_y + v * step_x;
        lk_store16(samples + row * PITCH, sample_line(patch, x, y, step_x, step_y, 16));
        lk_store16(samples + row * PITCH + 16,
                   sample_line(patch, x + 16 * step_x, y + 16 * step_y, step_x, step_y, SAMPLES - 16));
    }
}

// The gradients of a row of the patch, in its own axes.
LK_INLINE void gradients(const float *samples, int row, lk_f32x16 *across, lk_f32x16 *down) {
    const float *p = samples + (row + 1) * PITCH + 1;
    *across = lk_load16(p + 1) - lk_load16(p - 1);
    *down = lk_load16(p + PITCH) - lk_load16(p - PITCH);
}

// The angle of (x, y) in histogram bins, 0...LK_ORIENTATION_BINS. The polynomial is a minimax approximation of
// atan on 0...1 with an error below 2e-4.
LK_INLINE lk_f32x16 angle_in_bins(lk_f32x16 x, lk_f32x16 y) {
    lk_f32x16 ax = __builtin_elementwise_abs(x), ay = __builtin_elementwise_abs(y);
    lk_f32x16 high = __builtin_elementwise_max(ax, ay), low = __builtin_elementwise_min(ax, ay);
    lk_f32x16 a = low / (high + lk_splat16(1e-30f)), s = a * a;
    lk_f32x16 angle =
        ((lk_splat16(-0.0464964749f) * s + lk_splat16(0.15931422f)) * s - lk_splat16(0.327622764f)) * s * a + a;
    angle = lk_choose(ay > ax, lk_splat16(1.57079633f) - angle, angle);
    angle = lk_choose(x < lk_splat16(0), lk_splat16(3.14159265f) - angle, angle);
    angle = lk_choose(y < lk_splat16(0), lk_splat16(6.28318531f) - angle, angle);
    return angle * lk_splat16(LK_ORIENTATION_BINS / 6.28318531f);
}

void KERNEL(orientation_histogram)(const lk_patch *patch, const float *window, float *histogram) {
    float samples[SAMPLES * PITCH];
    sample_patch(patch, samples);
    float bins[LK_ORIENTATION_BINS + 1] = {0};
    for (int row = 0; row < SIDE; row++) {
        lk_f32x16 gx, gy;
        gradients(samples, row, &gx, &gy);
        lk_f32x16 weight = __builtin_elementwise_sqrt(gx * gx + gy * gy) * lk_load16(window + row * SIDE);
        lk_f32x16 place = angle_in_bins(gx, gy);
        lk_i32x16 bin = __builtin_convertvector(place, lk_i32x16);
        lk_f32x16 upper = (place - __builtin_convertvector(bin, lk_f32x16)) * weight, lower = weight - upper;
        for (int lane = 0; lane < 16; lane++) {
            int at = bin[lane] >= LK_ORIENTATION_BINS ? 0 : bin[lane];
            bins[at] += lower[lane];
            bins[at + 1] += upper[lane];
        }
    }
    bins[0] += bins[LK_ORIENTATION_BINS];
    memcpy(histogram, bins, LK_ORIENTATION_BINS * sizeof(float));
}

void KERNEL(gradient_descriptor)(const lk_patch *patch, const float *window, float *descriptor) {
    static const float directions[8][2] = {{1, 0},  {0.70710678f, 0.70710678f},   {0, 1},  {-0.70710678f, 0.70710678f},
                                           {-1, 0}, {-0.70710678f, -0.70710678f}, {0, -1}, {0.70710678f, -0.70710678f}};
    float samples[SAMPLES * PITCH];
    sample_patch(patch, samples);
    lk_f32x16 sums[8][4];
    memset(sums, 0, sizeof sums);
    for (int row = 0; row < SIDE; row++) {
        lk_f32x16 gx, gy;
        gradients(samples, row, &gx, &gy);
        lk_f32x16 length = __builtin_elementwise_sqrt(gx * gx + gy * gy + lk_splat16(1e-12f));
        lk_f32x16 inverse = lk_splat16(1) / length, weight = length * lk_load16(window + row * SIDE);
        // The row's place between the centers of the four rows of cells.
        const float place = ((float)row + 0.5f) / 4 - 0.5f;
        for (int k = 0; k < 8; k++) {
            lk_f32x16 cosine = (gx * lk_splat16(directions[k][0]) + gy * lk_splat16(directions[k][1])) * inverse;
            cosine = __builtin_elementwise_max(cosine, lk_splat16(0));
            // The eighth power is as wide as the linear weights of SIFT and needs no angle.
            cosine *= cosine;
            cosine *= cosine;
            cosine *= cosine;
            for (int cell = 0; cell < 4; cell++) {
                float share = 1 - fabsf(place - (float)cell);
                if (share > 0) sums[k][cell] += cosine * weight * lk_splat16(share);
            }
        }
    }
    for (int cell = 0; cell < 4; cell++) {
        float shares[16];
        for (int i = 0; i < 16; i++) shares[i] = fmaxf(0, 1 - fabsf(((float)i + 0.5f) / 4 - 0.5f - (float)cell));
        lk_f32x16 column = lk_load16(shares);
        for (int k = 0; k < 8; k++)
            for (int row = 0; row < 4; row++) descriptor[(row * 4 + cell) * 8 + k] = lk_sum16(sums[k][row] * column);
    }
}
