// The triangle filter: weighted sums of cells along a row, and of rows.

void RESIZE(filter_columns)(const float *cells, const lk_filter_span *spans, const float *weights, int32_t width,
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

void RESIZE(accumulate)(const float *line, float weight, size_t count, float *out) {
    size_t i = 0;
    for (; i + 16 <= count; i += 16) lk_store16(out + i, lk_load16(out + i) + lk_load16(line + i) * weight);
    for (; i < count; i++) out[i] += line[i] * weight;
}
