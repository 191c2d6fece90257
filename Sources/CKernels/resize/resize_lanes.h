// The stages of an antialiased resize after the box filter, and samples through a projective transform.

// The triangle filter: weighted sums of cells along a row, and of rows.

void KERNEL(filter_columns)(const float *cells, const lk_filter_span *spans, const float *weights, int32_t width,
                            float *out) {
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

void KERNEL(accumulate)(const float *line, float weight, size_t count, float *out) {
    size_t i = 0;
    for (; i + 16 <= count; i += 16) lk_store16(out + i, lk_load16(out + i) + lk_load16(line + i) * weight);
    for (; i < count; i++) out[i] += line[i] * weight;
}

// From cells to the network's input, normalized floats, or to 8-bit pixels.

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
        // Composites a premultiplied pixel over white; linear, so it can follow the resize.
        lk_f32x4 value = (ordered(pixel, order) + (white - alpha * pixel[3])) * multiply + add;
        memcpy(out, &value, 3 * sizeof(float));
    }
}

void KERNEL(write_pixels)(const float *pixels, int32_t width, const lk_pixel_layout *layout, float *out) {
    switch (layout->order) {
    case LK_ORDER_RGB: write_ordered(pixels, width, layout, out, LK_ORDER_RGB); break;
    case LK_ORDER_BGR: write_ordered(pixels, width, layout, out, LK_ORDER_BGR); break;
    case LK_ORDER_GRAY: write_ordered(pixels, width, layout, out, LK_ORDER_GRAY); break;
    }
}

// Bilinear samples of a row through a projective transform.

void KERNEL(sample)(const float *pixels, int32_t width, int32_t height, const lk_projection *projection, int32_t row,
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
        const lk_f32x16 fx = px - __builtin_convertvector(left, lk_f32x16),
                        fy = py - __builtin_convertvector(top, lk_f32x16);
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
