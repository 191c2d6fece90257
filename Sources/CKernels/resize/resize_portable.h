void KERNEL(sum_rows)(const uint8_t *source, ptrdiff_t stride, int32_t rows, size_t bytes, uint16_t *out) {
    for (size_t j = 0; j < bytes; j++) {
        uint16_t sum = 0;
        for (int32_t i = 0; i < rows; i++) sum += source[i * stride + j];
        out[j] = sum;
    }
}

void KERNEL(sum_columns)(const uint16_t *line, int32_t channels, int32_t width, int32_t factor, bool fits,
                         float *cells) {
    (void)fits;
    for (int32_t x = 0; x < width; x += factor, cells += 4)
        for (int32_t channel = 0; channel < 4; channel++) {
            uint32_t sum = 0;
            for (int32_t i = x; channel < channels && i < x + factor && i < width; i++)
                sum += line[(ptrdiff_t)i * channels + channel];
            cells[channel] = (float)sum;
        }
}

void KERNEL(sum_cells)(const uint8_t *source, ptrdiff_t stride, int32_t rows, int32_t width, int32_t factor,
                       float *cells) {
    for (int32_t x = 0; x < width; x += factor, cells += 4)
        for (int32_t channel = 0; channel < 4; channel++) {
            uint32_t sum = 0;
            for (int32_t y = 0; y < rows; y++)
                for (int32_t i = x; i < x + factor && i < width; i++)
                    sum += source[y * stride + (ptrdiff_t)i * 4 + channel];
            cells[channel] = (float)sum;
        }
}

void KERNEL(halve_rows)(const uint8_t *source, ptrdiff_t stride, int32_t channels, int32_t width, uint8_t *out) {
    for (int32_t x = 0; x < width; x++)
        for (int32_t channel = 0; channel < 4; channel++) {
            if (channel == channels) {
                out[(ptrdiff_t)x * 4 + channel] = 0;
                continue;
            }
            const uint8_t *square = source + (ptrdiff_t)x * 2 * channels + channel;
            const uint32_t sum = square[0] + square[channels] + square[stride] + square[stride + channels];
            out[(ptrdiff_t)x * 4 + channel] = (uint8_t)((sum + 1 + (sum >> 2 & 1)) >> 2);
        }
}

void KERNEL(filter_columns)(const float *cells, const lk_filter_span *spans, const float *weights, int32_t width,
                            float *out) {
    for (int32_t x = 0; x < width; x++)
        for (int channel = 0; channel < 4; channel++) {
            float sum = 0;
            for (int32_t i = 0; i < spans[x].count; i++)
                sum += cells[(ptrdiff_t)(spans[x].first + i) * 4 + channel] * weights[spans[x].offset + i];
            out[(ptrdiff_t)x * 4 + channel] = sum;
        }
}

void KERNEL(accumulate)(const float *line, float weight, size_t count, float *out) {
    for (size_t i = 0; i < count; i++) out[i] += line[i] * weight;
}

void KERNEL(write_pixels)(const float *pixels, int32_t width, const lk_pixel_layout *layout, float *out) {
    for (int32_t x = 0; x < width; x++) {
        const float *pixel = pixels + (ptrdiff_t)x * 4;
        for (int channel = 0; channel < 3; channel++) {
            const int from = layout->order == LK_ORDER_GRAY ? 0 : layout->order == LK_ORDER_BGR ? 2 - channel : channel;
            const float white = layout->premultiplied ? 255 - pixel[3] : 0;
            out[(ptrdiff_t)x * layout->pixel_stride + channel] =
                (pixel[from] + white) * layout->multiply[channel] + layout->add[channel];
        }
    }
}

void KERNEL(sample)(const float *pixels, int32_t width, int32_t height, const lk_projection *p, int32_t row,
                    int32_t count, float *out) {
    for (int32_t i = 0; i < count; i++) {
        const float x = (float)i, y = (float)row;
        const float w = 1 / (p->m[6] * x + (p->m[7] * y + p->m[8]));
        float px = (p->m[0] * x + (p->m[1] * y + p->m[2])) * w, py = (p->m[3] * x + (p->m[4] * y + p->m[5])) * w;
        px = px > 0 ? px : 0;
        py = py > 0 ? py : 0;
        px = px < width - 1 ? px : (float)(width - 1);
        py = py < height - 1 ? py : (float)(height - 1);
        const int32_t left = (int32_t)px, top = (int32_t)py;
        const int32_t right = left + 1 < width ? left + 1 : left, below = top + 1 < height ? top + 1 : top;
        for (int channel = 0; channel < 4; channel++) {
            const float a = pixels[((ptrdiff_t)top * width + left) * 4 + channel],
                        b = pixels[((ptrdiff_t)top * width + right) * 4 + channel];
            const float c = pixels[((ptrdiff_t)below * width + left) * 4 + channel],
                        d = pixels[((ptrdiff_t)below * width + right) * 4 + channel];
            const float upper = a + (b - a) * (px - (float)left), lower = c + (d - c) * (px - (float)left);
            out[(ptrdiff_t)i * 4 + channel] = upper + (lower - upper) * (py - (float)top);
        }
    }
}
