// Lines of arrays, such as the tokens of a transformer: what is done to each before and after a matrix product.

// The elements of a line from i on, `rest` of them, filled up with a value.
LK_INLINE lk_f32x16 line_rest(const float *values, size_t rest, float filling) {
    float padded[16];
    for (int lane = 0; lane < 16; lane++) padded[lane] = filling;
    memcpy(padded, values, rest * sizeof(float));
    return lk_load16(padded);
}

// e^x for x of at most 0; NaN stays NaN.
LK_INLINE lk_f32x16 exp_below(lk_f32x16 x) {
    x *= 1.44269504f;
    return lk_exp2_near(lk_choose(x < -126, lk_splat16(-126), x));
}

void KERNEL(softmax)(float *values, size_t count, float scale, const float *summands) {
    const size_t whole = count / 16 * 16, rest = count - whole;
    lk_f32x16 largest = lk_splat16(-INFINITY);
    for (size_t i = 0; i < whole; i += 16) {
        lk_f32x16 x = lk_load16(values + i) * scale;
        if (summands) x += lk_load16(summands + i);
        lk_store16(values + i, x);
        largest = lk_max16(x, largest);
    }
    lk_f32x16 last = lk_splat16(-INFINITY);
    if (rest > 0) {
        last = line_rest(values + whole, rest, -INFINITY) * scale;
        if (summands) last += line_rest(summands + whole, rest, 0);
        // A negative scale turns what fills it up.
        for (size_t lane = rest; lane < 16; lane++) last[lane] = -INFINITY;
        largest = lk_max16(last, largest);
    }
    const float most = lk_largest16(largest);
    lk_f32x16 sums = lk_splat16(0);
    for (size_t i = 0; i < whole; i += 16) {
        const lk_f32x16 x = exp_below(lk_load16(values + i) - most);
        lk_store16(values + i, x);
        sums += x;
    }
    if (rest > 0) {
        last = exp_below(last - most);
        for (size_t lane = rest; lane < 16; lane++) last[lane] = 0;
        sums += last;
    }
    const float share = 1 / lk_sum16(sums);
    for (size_t i = 0; i < whole; i += 16) lk_store16(values + i, lk_load16(values + i) * share);
    last *= share;
    memcpy(values + whole, &last, rest * sizeof(float));
}

void KERNEL(normalize_line)(const float *values, size_t count, float epsilon, const float *weights, const float *bias,
                            float *out) {
    const size_t whole = count / 16 * 16;
    lk_f32x16 sums[2] = {lk_splat16(0), lk_splat16(0)};
    for (size_t i = 0; i < whole; i += 16) sums[i / 16 % 2] += lk_load16(values + i);
    float sum = lk_sum16(sums[0] + sums[1]);
    for (size_t i = whole; i < count; i++) sum += values[i];
    const float mean = sum / (float)count;
    sums[0] = sums[1] = lk_splat16(0);
    for (size_t i = 0; i < whole; i += 16) {
        const lk_f32x16 difference = lk_load16(values + i) - mean;
        sums[i / 16 % 2] = __builtin_elementwise_fma(difference, difference, sums[i / 16 % 2]);
    }
    float squares = lk_sum16(sums[0] + sums[1]);
    for (size_t i = whole; i < count; i++) squares += (values[i] - mean) * (values[i] - mean);
    const float factor = (float)(1 / sqrt((double)squares / (double)count + (double)epsilon));
    for (size_t i = 0; i < whole; i += 16)
        lk_store16(out + i, __builtin_elementwise_fma((lk_load16(values + i) - mean) * factor, lk_load16(weights + i),
                                                      lk_load16(bias + i)));
    for (size_t i = whole; i < count; i++) out[i] = fmaf((values[i] - mean) * factor, weights[i], bias[i]);
}

float KERNEL(quantize_line)(const float *values, size_t count, ptrdiff_t block_stride, uint8_t *codes) {
    const float unit = KERNEL(largest_magnitude)(values, count) / 127;
    const lk_f32x16 scale = lk_splat16(1 / unit), zero = lk_splat16(128);
    for (size_t i = 0; i < count; i += 16, codes += block_stride)
        lk_store16_u8(codes, __builtin_elementwise_fma(lk_load16(values + i), scale, zero));
    return unit;
}

// Results are written into memory that other layers used before: asked for a few lines earlier, it is in a cache.
enum { LINES_AHEAD = 4 };

void KERNEL(finish_lines)(const lk_line_results *r, size_t lines) {
    const size_t whole = r->count / 16 * 16;
    for (size_t line = 0; line < lines; line++) {
        const float *products = r->products + line * 16;
        const float *residual = r->residual ? r->residual + line * r->output_stride : NULL;
        float *out = r->output + line * r->output_stride;
        const lk_f32x16 unit = lk_splat16(r->units ? r->units[line] : 1);
        for (size_t i = 0; i < r->count; i += 16, products += r->block_stride) {
            __builtin_prefetch(out + LINES_AHEAD * r->output_stride + i, 1);
            lk_f32x16 x = lk_load16(products) * unit;
            if (r->bias) x = __builtin_elementwise_fma(lk_load16(products), unit, lk_load16(r->bias + i));
            if (i < whole) lk_store16(out + i, x);
            else memcpy(out + i, &x, (r->count - i) * sizeof(float));
        }
        if (r->activation) KERNEL(activate)(r->activation, out, r->count, out);
        if (residual) {
            for (size_t i = 0; i < whole; i += 16) lk_store16(out + i, lk_load16(out + i) + lk_load16(residual + i));
            for (size_t i = whole; i < r->count; i++) out[i] += residual[i];
        }
    }
}

// Exchanges parts of `size` elements between rows that are `size` apart.
#define EXCHANGE(size, lower, upper)                                                                                   \
    for (int row = 0; row < 16; row++) {                                                                               \
        if (row & size) continue;                                                                                      \
        const lk_f32x16 a = rows[row], b = rows[row + size];                                                           \
        rows[row] = __builtin_shufflevector(a, b, lower);                                                              \
        rows[row + size] = __builtin_shufflevector(a, b, upper);                                                       \
    }
#define LOWER_8 0, 1, 2, 3, 4, 5, 6, 7, 16, 17, 18, 19, 20, 21, 22, 23
#define UPPER_8 8, 9, 10, 11, 12, 13, 14, 15, 24, 25, 26, 27, 28, 29, 30, 31
#define LOWER_4 0, 1, 2, 3, 16, 17, 18, 19, 8, 9, 10, 11, 24, 25, 26, 27
#define UPPER_4 4, 5, 6, 7, 20, 21, 22, 23, 12, 13, 14, 15, 28, 29, 30, 31
#define LOWER_2 0, 1, 16, 17, 4, 5, 20, 21, 8, 9, 24, 25, 12, 13, 28, 29
#define UPPER_2 2, 3, 18, 19, 6, 7, 22, 23, 10, 11, 26, 27, 14, 15, 30, 31
#define LOWER_1 0, 16, 2, 18, 4, 20, 6, 22, 8, 24, 10, 26, 12, 28, 14, 30
#define UPPER_1 1, 17, 3, 19, 5, 21, 7, 23, 9, 25, 11, 27, 13, 29, 15, 31

void KERNEL(pack_lines)(const float *lines, ptrdiff_t stride, size_t count, size_t length, float *packed) {
    for (size_t first = 0; first < count; first += 16) {
        const size_t here = count - first < 16 ? count - first : 16;
        for (size_t i = 0; i < length; i += 16) {
            const size_t columns = length - i < 16 ? length - i : 16;
            lk_f32x16 rows[16];
            for (size_t row = 0; row < 16; row++) {
                const float *from = lines + (ptrdiff_t)(first + row) * stride + i;
                rows[row] = row >= here    ? lk_splat16(0)
                            : columns < 16 ? lk_load16_partial(from, columns)
                                           : lk_load16(from);
            }
            EXCHANGE(8, LOWER_8, UPPER_8)
            EXCHANGE(4, LOWER_4, UPPER_4)
            EXCHANGE(2, LOWER_2, UPPER_2)
            EXCHANGE(1, LOWER_1, UPPER_1)
            for (size_t column = 0; column < columns; column++) lk_store16(packed + column * 16, rows[column]);
            packed += columns * 16;
        }
    }
}
#undef EXCHANGE
#undef LOWER_8
#undef UPPER_8
#undef LOWER_4
#undef UPPER_4
#undef LOWER_2
#undef UPPER_2
#undef LOWER_1
#undef UPPER_1
