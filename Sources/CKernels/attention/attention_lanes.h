// Attention with products of int8: softmax as codes, and keys and values as weights. On every SIMD target, the portable
// one too, these are the same operations in the same order, so that all have the same codes.

#include "../vector.h"

// Adding it rounds a float of a small magnitude to an integer, even on a tie, in the lower bits.
static const float attention_rounding = 0x1.8p23f;
typedef uint32_t attention_bits __attribute__((vector_size(64)));

// 255 * 2^x, for x of at most 0, rounded in the lowest byte. 2^x is 2^n 2^f with f in [-1/2, 1/2], of which a cubic is
// off by at most 1e-4; NaN and what is below 2^-10 become 0.
LK_INLINE lk_i32x16 attention_code(lk_f32x16 x) {
    x = lk_max16(x, lk_splat16(-10));
    const lk_f32x16 shifted = x + attention_rounding;
    const lk_f32x16 f = x - (shifted - attention_rounding);
    lk_f32x16 series = __builtin_elementwise_fma(f, lk_splat16(255 * 0.05517167f), lk_splat16(255 * 0.24261112f));
    series = __builtin_elementwise_fma(series, f, lk_splat16(255 * 0.69326099f));
    series = __builtin_elementwise_fma(series, f, lk_splat16(255 * 0.99992807f));
    // The lowest bits of `shifted` are n, which is added to the exponent.
    const lk_f32x16 scaled = (lk_f32x16)((attention_bits)series + ((attention_bits)shifted << 23));
    return (lk_i32x16)(scaled + attention_rounding) & 0xFF;
}

// Where a score is; the same each time.
LK_INLINE lk_f32x16 attention_place(lk_f32x16 score, lk_f32x16 scale, lk_f32x16 summand, const bool has_summands) {
    return has_summands ? __builtin_elementwise_fma(score, scale, summand) : score * scale;
}

LK_INLINE float attention_softmax(const float *scores, ptrdiff_t stride, size_t count, float scale,
                                  const float *summands, uint8_t *codes, const bool has_summands) {
    const float log2e = 1.44269504f;
    const ptrdiff_t whole = (ptrdiff_t)(count / 16);
    const size_t rest = count % 16;
    // A summand may be the lowest number, which times the logarithm is none.
    const lk_f32x16 factor = lk_splat16(has_summands ? scale : scale * log2e), none = lk_splat16(0);
    lk_f32x16 largest = lk_splat16(-INFINITY), last = largest;
    for (ptrdiff_t block = 0; block < whole; block++) {
        const lk_f32x16 summand = has_summands ? lk_load16(summands + block * 16) : none;
        largest = lk_max16(attention_place(lk_load16(scores + block * stride), factor, summand, has_summands), largest);
    }
    const lk_i32x16 lanes = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15}, is_there = lanes < (int32_t)rest;
    if (rest > 0) {
        const lk_f32x16 summand = has_summands ? lk_load16_partial(summands + whole * 16, rest) : none;
        last = attention_place(lk_load16(scores + whole * stride), factor, summand, has_summands);
        last = lk_choose(is_there, last, lk_splat16(-INFINITY));
        largest = lk_max16(last, largest);
    }
    const lk_f32x16 most = lk_splat16(lk_largest16(largest)), unit = lk_splat16(has_summands ? log2e : 1);
    lk_i32x16 sums = {0};
    for (ptrdiff_t block = 0; block < whole + (rest > 0); block++) {
        lk_f32x16 x = last;
        if (block < whole) {
            const lk_f32x16 summand = has_summands ? lk_load16(summands + block * 16) : none;
            x = attention_place(lk_load16(scores + block * stride), factor, summand, has_summands);
        }
        const lk_f32x16 below = x - most;
        lk_i32x16 code = attention_code(has_summands ? below * unit : below);
        if (block == whole) code &= is_there;
        sums += code;
        const lk_u8x16 bytes = __builtin_convertvector(code, lk_u8x16);
        memcpy(codes + block * stride, &bytes, sizeof bytes);
    }
    return 1 / (float)__builtin_reduce_add(sums);
}

float KERNEL(softmax_codes)(const float *scores, ptrdiff_t stride, size_t count, float scale, const float *summands,
                            uint8_t *codes) {
    return summands ? attention_softmax(scores, stride, count, scale, summands, codes, true)
                    : attention_softmax(scores, stride, count, scale, NULL, codes, false);
}

// The steps of weights of which 127 is the largest magnitude, or that of a sum of two neighbors.
LK_INLINE lk_f32x16 attention_steps(lk_f32x16 largest) {
    return lk_choose(largest >= 127 * 0x1p-126f, largest / 127, lk_splat16(1));
}

LK_INLINE lk_i32x16 attention_rounded(lk_f32x16 x, lk_f32x16 inverse) {
    const lk_f32x16 rounded = __builtin_elementwise_fma(x, inverse, lk_splat16(attention_rounding));
    return (lk_i32x16)rounded - (lk_i32x16)lk_splat16(attention_rounding);
}

void KERNEL(pack_quantized_lines)(const float *lines, ptrdiff_t stride, size_t count, size_t length, int8_t *packed,
                                  float *scales, float *bias) {
    for (size_t first = 0; first < count; first += 16, packed += length * 16, scales += 16, bias += 16) {
        const size_t here = count - first < 16 ? count - first : 16;
        const float *line = lines + (ptrdiff_t)first * stride;
        float largest[16] = {0}, inverses[16];
        for (size_t row = 0; row < here; row++) {
            lk_f32x16 most = lk_splat16(0);
            for (size_t i = 0; i < length; i += 16) {
                const lk_f32x16 x = lk_load16(line + (ptrdiff_t)row * stride + i);
                most = lk_max16(__builtin_elementwise_abs(x), most);
                most = lk_max16(__builtin_elementwise_abs(x + lk_exchanged(x, 1)), most);
            }
            largest[row] = lk_largest16(most);
        }
        const lk_f32x16 steps = attention_steps(lk_load16(largest));
        lk_store16(scales, steps);
        lk_store16(inverses, 1 / steps);
        lk_i32x16 sums = {0};
        if (here < 16) memset(packed, 0, length * 16);
        for (size_t row = 0; row < here; row++) {
            const lk_f32x16 inverse = lk_splat16(inverses[row]);
            lk_i32x16 sum = {0};
            for (size_t i = 0; i < length; i += 16) {
                const lk_i32x16 code = attention_rounded(lk_load16(line + (ptrdiff_t)row * stride + i), inverse);
                sum += code;
                const lk_u8x16 bytes = __builtin_convertvector(code, lk_u8x16);
                for (size_t quad = 0; quad < 4; quad++)
                    memcpy(packed + i * 16 + quad * 64 + row * 4, (const uint8_t *)&bytes + quad * 4, 4);
            }
            sums[row] = __builtin_reduce_add(sum);
        }
        lk_store16(bias, -128 * steps * __builtin_convertvector(sums, lk_f32x16));
    }
}

// Sixteen numbers of a row, or those that are left of it; zeros for a row beyond the end.
LK_INLINE lk_f32x16 attention_row(const float *rows, ptrdiff_t stride, size_t count, size_t width, size_t row) {
    if (row >= count) return lk_splat16(0);
    const float *from = rows + (ptrdiff_t)row * stride;
    return width < 16 ? lk_load16_partial(from, width) : lk_load16(from);
}

void KERNEL(pack_quantized_columns)(const float *rows, ptrdiff_t stride, size_t count, size_t columns, int8_t *packed,
                                    float *scales) {
    for (size_t first = 0; first < columns; first += 16, rows += 16, scales += 16) {
        const size_t width = columns - first < 16 ? columns - first : 16;
        lk_f32x16 largest = lk_splat16(0);
        for (size_t row = 0; row < count; row += 2) {
            const lk_f32x16 x = attention_row(rows, stride, count, width, row);
            const lk_f32x16 y = attention_row(rows, stride, count, width, row + 1);
            largest = lk_max16(__builtin_elementwise_abs(x), largest);
            largest = lk_max16(__builtin_elementwise_abs(y), largest);
            largest = lk_max16(__builtin_elementwise_abs(x + y), largest);
        }
        const lk_f32x16 steps = attention_steps(largest), inverse = 1 / steps;
        lk_store16(scales, steps);
        for (size_t row = 0; row < (count + 15) / 16 * 16; row += 4, packed += 64) {
            attention_bits codes = {0};
            for (size_t i = 4; i-- > 0;) {
                const lk_f32x16 x = attention_row(rows, stride, count, width, row + i);
                codes = codes << 8 | ((attention_bits)attention_rounded(x, inverse) & 0xFF);
            }
            memcpy(packed, &codes, sizeof codes);
        }
    }
}
