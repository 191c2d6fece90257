// Functions of sixteen numbers at once.

#include "../exponential.h"

// lk_exp2 clamps its argument, and would make a number of NaN.
LK_INLINE lk_f32x16 exp_of(lk_f32x16 x) { return lk_choose(x == x, lk_exp2(x * 1.44269504f), x); }

// Numerically safe on both sides: e^-|x| is at most 1.
LK_INLINE lk_f32x16 sigmoid_of(lk_f32x16 x) {
    const lk_f32x16 small = exp_of(-__builtin_elementwise_abs(x));
    const lk_f32x16 side = lk_reciprocal(1 + small);
    return lk_choose(x > 0, side, small * side);
}

LK_INLINE lk_f32x16 tanh_of(lk_f32x16 x) {
    const lk_f32x16 size = __builtin_elementwise_abs(x);
    const lk_f32x16 small = exp_of(-2 * size);
    const lk_f32x16 far = (1 - small) * lk_reciprocal(1 + small);
    // Near zero the difference above has few digits; Taylor's series has them all.
    const lk_f32x16 q = x * x;
    const lk_f32x16 near = size * (1 + q * (-1.0f / 3 + q * (2.0f / 15 + q * (-17.0f / 315))));
    return __builtin_elementwise_copysign(lk_choose(size < 0.1f, near, far), x);
}

// x P(x^2) / Q(x^2), fitted to the least relative error, 1.2e-8 without that of rounding; beyond 3.8 it is 1 within
// 8e-8. Off by at most 3.1e-7.
LK_INLINE lk_f32x16 erf_of(lk_f32x16 x) {
    const lk_f32x16 q = x * x;
    lk_f32x16 above = lk_splat16(2.15105024e-6f), below = lk_splat16(3.92136389e-5f);
    const float numerator[5] = {2.86508584e-4f, 3.61503195e-3f, 5.23105972e-2f, 0.186248526f, 1.12837911f};
    const float denominator[5] = {1.13509141e-3f, 1.46671822e-2f, 0.112491526f, 0.49839142f, 1};
#pragma clang loop unroll(full)
    for (int i = 0; i < 5; i++) {
        above = __builtin_elementwise_fma(above, q, lk_splat16(numerator[i]));
        below = __builtin_elementwise_fma(below, q, lk_splat16(denominator[i]));
    }
    const lk_f32x16 far = __builtin_elementwise_copysign(lk_splat16(1), x);
    return lk_choose(__builtin_elementwise_abs(x) > 3.8f, far, x * above * lk_reciprocal(below));
}

// log(1 + e^x), from the side on which nothing overflows.
LK_INLINE lk_f32x16 softplus_of(lk_f32x16 x) {
    const lk_f32x16 small = exp_of(-__builtin_elementwise_abs(x));
    // log(1 + s) by its series where 1 + s would lose the digits of s.
    const lk_f32x16 near = small * (1 - small * (0.5f - small * (1.0f / 3)));
    const lk_f32x16 log = lk_choose(small < 1e-3f, near, lk_log2(1 + small) * 0.693147181f);
    return lk_choose(x == x, __builtin_elementwise_max(x, lk_splat16(0)) + log, x);
}

LK_INLINE lk_f32x16 clamped(lk_f32x16 x, float low, float high) {
    return __builtin_elementwise_min(__builtin_elementwise_max(x, lk_splat16(low)), lk_splat16(high));
}

// The loop of one function: the tail of the values goes through a padded copy.
#define EACH(expression)                                                                                               \
    {                                                                                                                  \
        size_t i = 0;                                                                                                  \
        for (; i + 16 <= count; i += 16) {                                                                             \
            const lk_f32x16 x = lk_load16(values + i);                                                                 \
            lk_store16(out + i, expression);                                                                           \
        }                                                                                                              \
        if (i < count) {                                                                                               \
            const lk_f32x16 x = lk_load16_partial(values + i, count - i);                                              \
            float rest[16];                                                                                            \
            lk_store16(rest, expression);                                                                              \
            memcpy(out + i, rest, (count - i) * sizeof(float));                                                        \
        }                                                                                                              \
        break;                                                                                                         \
    }

void KERNEL(activate)(const lk_activation *activation, const float *values, size_t count, float *out) {
    const float alpha = activation->alpha, beta = activation->beta;
    switch (activation->kind) {
    case LK_CLAMP: EACH(clamped(x, alpha, beta))
    case LK_LEAKY_RELU: EACH(lk_choose(x < 0, x * alpha, x))
    case LK_ELU: EACH(lk_choose(x < 0, alpha * (exp_of(x) - 1), x))
    case LK_SIGMOID: EACH(sigmoid_of(x))
    case LK_HARD_SIGMOID: EACH(clamped(x * alpha + beta, 0, 1))
    case LK_HARD_SWISH: EACH(x * clamped(x * (1.0f / 6) + 0.5f, 0, 1))
    case LK_SILU: EACH(x * sigmoid_of(x))
    case LK_GELU: EACH(0.5f * x * (1 + erf_of(x * 0.707106781f)))
    case LK_GELU_TANH: EACH(0.5f * x * (1 + tanh_of(0.797884561f * (x + 0.044715f * x * x * x))))
    case LK_MISH: EACH(x * tanh_of(softplus_of(x)))
    case LK_SOFTPLUS: EACH(softplus_of(x))
    case LK_TANH: EACH(tanh_of(x))
    case LK_ERF: EACH(erf_of(x))
    case LK_EXP: EACH(exp_of(x))
    case LK_ABS: EACH(__builtin_elementwise_abs(x))
    case LK_NEGATE: EACH(-x)
    case LK_QUANTIZE: EACH(alpha * clamped(__builtin_elementwise_roundeven(x / alpha), beta, beta + 255))
    case LK_RECIPROCAL: EACH(1 / x)
    // Rare: the library's, which are right for zero and for negative numbers, too.
    case LK_LOG:
        for (size_t i = 0; i < count; i++) out[i] = logf(values[i]);
        break;
    case LK_SQRT:
        for (size_t i = 0; i < count; i++) out[i] = sqrtf(values[i]);
        break;
    }
}
#undef EACH

void KERNEL(quantize)(const float *values, float scale, uint8_t zero_point, size_t count, uint8_t *codes) {
    const lk_f32x16 factor = lk_splat16(scale), zero = lk_splat16(zero_point);
    size_t i = 0;
    for (; i + 16 <= count; i += 16)
        lk_store16_u8(codes + i, __builtin_elementwise_fma(lk_load16(values + i), factor, zero));
    for (; i < count; i++) codes[i] = lk_u8(fmaf(values[i], scale, zero_point));
}

void KERNEL(dequantize)(const uint8_t *codes, float scale, uint8_t zero_point, size_t count, float *values) {
    size_t i = 0;
    for (; i + 16 <= count; i += 16)
        lk_store16(values + i, __builtin_convertvector(lk_load16_u8(codes + i) - zero_point, lk_f32x16) * scale);
    for (; i < count; i++) values[i] = (float)(codes[i] - zero_point) * scale;
}

LK_INLINE lk_f32x16 operand_at(lk_operand operand, const lk_operand_mode mode, size_t i) {
    if (mode == LK_EACH) return lk_load16(operand.values + i);
    return mode == LK_SAME_BLOCK ? lk_load16(operand.values) : lk_splat16(operand.values[0]);
}

LK_INLINE lk_f32x16 operand_rest(lk_operand operand, const lk_operand_mode mode, size_t i, size_t count) {
    if (mode == LK_EACH) return lk_load16_partial(operand.values + i, count - i);
    return mode == LK_SAME_BLOCK ? lk_load16_partial(operand.values, count - i) : lk_splat16(operand.values[0]);
}

LK_INLINE lk_f32x16 combined(const lk_combination operation, lk_f32x16 x, lk_f32x16 y) {
    switch (operation) {
    case LK_ADD: return x + y;
    case LK_SUBTRACT: return x - y;
    case LK_MULTIPLY: return x * y;
    case LK_DIVIDE: return x / y;
    case LK_MAXIMUM: return __builtin_elementwise_max(x, y);
    case LK_MINIMUM: return __builtin_elementwise_min(x, y);
    case LK_PRELU: return lk_choose(x < 0, x * y, x);
    case LK_POWER:
        // By the library: negative bases and whole exponents are allowed.
        for (int lane = 0; lane < 16; lane++) x[lane] = powf(x[lane], y[lane]);
        return x;
    }
    return x;
}

LK_INLINE void combine_modes(const lk_combination operation, lk_operand left, const lk_operand_mode left_mode,
                             lk_operand right, const lk_operand_mode right_mode, size_t count, float *out) {
    size_t i = 0;
    for (; i + 16 <= count; i += 16)
        lk_store16(out + i, combined(operation, operand_at(left, left_mode, i), operand_at(right, right_mode, i)));
    if (i < count) {
        float rest[16];
        lk_store16(rest, combined(operation, operand_rest(left, left_mode, i, count),
                                  operand_rest(right, right_mode, i, count)));
        memcpy(out + i, rest, (count - i) * sizeof(float));
    }
}

LK_INLINE void combine_operation(const lk_combination operation, lk_operand left, lk_operand right, size_t count,
                                 float *out) {
    if (left.mode == LK_EACH && right.mode == LK_EACH)
        combine_modes(operation, left, LK_EACH, right, LK_EACH, count, out);
    else if (left.mode == LK_EACH && right.mode == LK_SAME_BLOCK)
        combine_modes(operation, left, LK_EACH, right, LK_SAME_BLOCK, count, out);
    else if (left.mode == LK_EACH && right.mode == LK_SAME_VALUE)
        combine_modes(operation, left, LK_EACH, right, LK_SAME_VALUE, count, out);
    else combine_modes(operation, left, left.mode, right, right.mode, count, out);
}

void KERNEL(combine)(lk_combination operation, lk_operand left, lk_operand right, size_t count, float *out) {
    switch (operation) {
    case LK_ADD: combine_operation(LK_ADD, left, right, count, out); break;
    case LK_SUBTRACT: combine_operation(LK_SUBTRACT, left, right, count, out); break;
    case LK_MULTIPLY: combine_operation(LK_MULTIPLY, left, right, count, out); break;
    case LK_DIVIDE: combine_operation(LK_DIVIDE, left, right, count, out); break;
    case LK_MAXIMUM: combine_operation(LK_MAXIMUM, left, right, count, out); break;
    case LK_MINIMUM: combine_operation(LK_MINIMUM, left, right, count, out); break;
    case LK_PRELU: combine_operation(LK_PRELU, left, right, count, out); break;
    case LK_POWER: combine_operation(LK_POWER, left, right, count, out); break;
    }
}
