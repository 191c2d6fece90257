void KERNEL(generalized_mean)(const float *pixels, ptrdiff_t row_stride, int32_t width, int32_t height, float power,
                              float epsilon, float *out) {
    for (int channel = 0; channel < LK_CHANNEL_BLOCK; channel++) {
        float sum = 0;
        for (int32_t y = 0; y < height; y++)
            for (int32_t x = 0; x < width; x++)
                sum += powf(fmaxf(pixels[y * row_stride + (ptrdiff_t)x * LK_CHANNEL_BLOCK + channel], epsilon), power);
        out[channel] = powf(sum / (float)(width * height), 1 / power);
    }
}
