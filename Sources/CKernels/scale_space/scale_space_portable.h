static int32_t clamped(int32_t index, int32_t count) { return index < 0 ? 0 : index >= count ? count - 1 : index; }

void KERNEL(gaussian_blur)(const lk_plane *source, const float *taps, int32_t radius, int32_t spacing, int32_t first,
                           int32_t end, float *line, float *out) {
    const ptrdiff_t stride = source->stride;
    const int32_t width = source->width, height = source->height;
    for (int32_t y = first; y < end; y++)
        for (int32_t x = 0; x < width; x++) {
            float sum = taps[0] * source->pixels[y * stride + x];
            for (int32_t k = 1; k <= radius; k++)
                sum += taps[k] * (source->pixels[clamped(y - k * spacing, height) * stride + x] +
                                  source->pixels[clamped(y + k * spacing, height) * stride + x]);
            out[y * stride + x] = sum;
        }
    for (int32_t y = first; y < end; y++) {
        float *row = out + y * stride;
        for (int32_t x = 0; x < width; x++) line[x] = row[x];
        for (int32_t x = 0; x < width; x++) {
            float sum = taps[0] * line[x];
            for (int32_t k = 1; k <= radius; k++)
                sum += taps[k] * (line[clamped(x - k * spacing, width)] + line[clamped(x + k * spacing, width)]);
            row[x] = sum;
        }
    }
}

static float difference(const float *const gaussians[4], int plane, ptrdiff_t at) {
    return gaussians[plane + 1][at] - gaussians[plane][at];
}

static bool is_extreme(const float *const gaussians[4], ptrdiff_t stride, ptrdiff_t at, float sign) {
    const float value = sign * difference(gaussians, 1, at);
    for (int plane = 0; plane < 3; plane++)
        for (int dy = -1; dy <= 1; dy++)
            for (int dx = -1; dx <= 1; dx++)
                if (sign * difference(gaussians, plane, at + dy * stride + dx) > value) return false;
    return true;
}

size_t KERNEL(scale_space_extrema)(const float *const gaussians[4], ptrdiff_t stride, int32_t width, int32_t first,
                                   int32_t end, int32_t border, float threshold, lk_pixel *found, size_t capacity) {
    size_t count = 0;
    for (int32_t y = first; y < end; y++)
        for (int32_t x = border; x < width - border; x++) {
            const ptrdiff_t at = y * stride + x;
            const float value = difference(gaussians, 1, at);
            if (!(value > threshold && is_extreme(gaussians, stride, at, 1)) &&
                !(value < -threshold && is_extreme(gaussians, stride, at, -1)))
                continue;
            if (count == capacity) return count;
            found[count++] = (lk_pixel){x, y};
        }
    return count;
}
