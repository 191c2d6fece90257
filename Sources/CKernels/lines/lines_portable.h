void KERNEL(softmax)(float *values, size_t count, float scale, const float *summands) {
    float largest = -INFINITY, sum = 0;
    for (size_t i = 0; i < count; i++) {
        values[i] = values[i] * scale + (summands ? summands[i] : 0);
        largest = values[i] > largest ? values[i] : largest;
    }
    for (size_t i = 0; i < count; i++) sum += values[i] = expf(values[i] - largest);
    for (size_t i = 0; i < count; i++) values[i] /= sum;
}

void KERNEL(normalize_line)(const float *values, size_t count, float epsilon, const float *weights, const float *bias,
                            float *out) {
    double sum = 0, squares = 0;
    for (size_t i = 0; i < count; i++) sum += values[i];
    const double mean = sum / (double)count;
    for (size_t i = 0; i < count; i++) squares += (values[i] - mean) * (values[i] - mean);
    const double factor = 1 / sqrt(squares / (double)count + (double)epsilon);
    for (size_t i = 0; i < count; i++) out[i] = (float)((values[i] - mean) * factor) * weights[i] + bias[i];
}

float KERNEL(quantize_line)(const float *values, size_t count, ptrdiff_t block_stride, uint8_t *codes) {
    const float unit = KERNEL(largest_magnitude)(values, count) / 127;
    for (size_t i = 0; i < count; i++)
        codes[(ptrdiff_t)(i / 16) * block_stride + (ptrdiff_t)(i % 16)] = lk_u8(fmaf(values[i], 1 / unit, 128));
    return unit;
}

void KERNEL(finish_lines)(const lk_line_results *r, size_t lines) {
    for (size_t line = 0; line < lines; line++)
        for (size_t i = 0; i < r->count; i++) {
            float x = r->products[(ptrdiff_t)(i / 16) * r->block_stride + (ptrdiff_t)(line * 16 + i % 16)];
            const float unit = r->units ? r->units[line] : 1;
            x = r->bias ? fmaf(x, unit, r->bias[i]) : x * unit;
            if (r->activation) x = activated(r->activation, x);
            const ptrdiff_t at = (ptrdiff_t)line * r->output_stride + (ptrdiff_t)i;
            r->output[at] = r->residual ? x + r->residual[at] : x;
        }
}

void KERNEL(pack_lines)(const float *lines, ptrdiff_t stride, size_t count, size_t length, float *packed) {
    for (size_t first = 0; first < count; first += 16)
        for (size_t i = 0; i < length; i++, packed += 16)
            for (size_t line = 0; line < 16; line++)
                packed[line] = first + line < count ? lines[(ptrdiff_t)(first + line) * stride + (ptrdiff_t)i] : 0;
}
