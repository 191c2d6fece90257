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

void RESIZE(write_pixels)(const float *pixels, int32_t width, const lk_pixel_layout *layout, float *out) {
    switch (layout->order) {
    case LK_ORDER_RGB: write_ordered(pixels, width, layout, out, LK_ORDER_RGB); break;
    case LK_ORDER_BGR: write_ordered(pixels, width, layout, out, LK_ORDER_BGR); break;
    case LK_ORDER_GRAY: write_ordered(pixels, width, layout, out, LK_ORDER_GRAY); break;
    }
}
