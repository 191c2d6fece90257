void KERNEL(luma_row)(const uint8_t *source, int32_t channels, const float *weights, int32_t width, float *out) {
    for (int32_t x = 0; x < width; x++) {
        float sum = 0;
        for (int32_t channel = 0; channel < channels; channel++)
            sum += weights[channel] * (float)source[(ptrdiff_t)x * channels + channel];
        out[x] = sum;
    }
}

void KERNEL(filter_row)(const float *cells, const lk_filter_span *spans, const float *weights, int32_t width,
                        float *out) {
    for (int32_t x = 0; x < width; x++) {
        float sum = 0;
        for (int32_t i = 0; i < spans[x].count; i++) sum += cells[spans[x].first + i] * weights[spans[x].offset + i];
        out[x] = sum;
    }
}
