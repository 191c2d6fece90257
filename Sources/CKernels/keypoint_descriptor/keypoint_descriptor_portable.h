enum { SIDE = LK_PATCH_SIDE };

static float clamp_to(float v, float limit) { return fminf(fmaxf(v, 0), limit); }

// The sample in column `u` and row `v` of the patch, from its center, in samples.
static float sample(const lk_patch *patch, float u, float v) {
    const float step_x = patch->spacing * patch->cosine, step_y = patch->spacing * patch->sine;
    const float x = clamp_to(patch->x + u * step_x - v * step_y, (float)(patch->plane.width - 1) - 0.001f);
    const float y = clamp_to(patch->y + u * step_y + v * step_x, (float)(patch->plane.height - 1) - 0.001f);
    const float *p = patch->plane.pixels + (ptrdiff_t)y * patch->plane.stride + (ptrdiff_t)x;
    const float fx = x - floorf(x), fy = y - floorf(y);
    const float top = p[0] + (p[1] - p[0]) * fx;
    const float bottom = p[patch->plane.stride] + (p[patch->plane.stride + 1] - p[patch->plane.stride]) * fx;
    return top + (bottom - top) * fy;
}

static void gradient(const lk_patch *patch, int column, int row, float *gx, float *gy) {
    const float u = (float)column - (SIDE - 1) * 0.5f, v = (float)row - (SIDE - 1) * 0.5f;
    *gx = sample(patch, u + 1, v) - sample(patch, u - 1, v);
    *gy = sample(patch, u, v + 1) - sample(patch, u, v - 1);
}

void KERNEL(orientation_histogram)(const lk_patch *patch, const float *window, float *histogram) {
    const float turn = 6.28318531f;
    memset(histogram, 0, LK_ORIENTATION_BINS * sizeof(float));
    for (int row = 0; row < SIDE; row++)
        for (int column = 0; column < SIDE; column++) {
            float gx, gy;
            gradient(patch, column, row, &gx, &gy);
            const float weight = sqrtf(gx * gx + gy * gy) * window[row * SIDE + column];
            const float angle = atan2f(gy, gx);
            const float place = (angle < 0 ? angle + turn : angle) * (LK_ORIENTATION_BINS / turn);
            const int bin = (int)place;
            histogram[bin % LK_ORIENTATION_BINS] += weight * (1 - (place - (float)bin));
            histogram[(bin + 1) % LK_ORIENTATION_BINS] += weight * (place - (float)bin);
        }
}

void KERNEL(gradient_descriptor)(const lk_patch *patch, const float *window, float *descriptor) {
    memset(descriptor, 0, LK_DESCRIPTOR_LENGTH * sizeof(float));
    for (int row = 0; row < SIDE; row++)
        for (int column = 0; column < SIDE; column++) {
            float gx, gy;
            gradient(patch, column, row, &gx, &gy);
            const float length = sqrtf(gx * gx + gy * gy + 1e-12f);
            for (int k = 0; k < 8; k++) {
                const float turned = (float)k * 0.785398163f;
                const float cosine = fmaxf(0, (gx * cosf(turned) + gy * sinf(turned)) / length);
                const float value = powf(cosine, 8) * length * window[row * SIDE + column];
                for (int cell = 0; cell < 16; cell++) {
                    const float down = 1 - fabsf(((float)row + 0.5f) / 4 - 0.5f - (float)(cell / 4));
                    const float across = 1 - fabsf(((float)column + 0.5f) / 4 - 0.5f - (float)(cell % 4));
                    if (down > 0 && across > 0) descriptor[cell * 8 + k] += value * down * across;
                }
            }
        }
}
