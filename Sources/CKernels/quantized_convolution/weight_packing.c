// int8 weights in the order in which convolve_quantized reads them. One version for all targets: a model's weights are
// packed once.

#include <float.h>

#include "../stored_numbers/stored_numbers.h"

enum { BLOCK = LK_CHANNEL_BLOCK, QUAD = 4, LARGEST_CODE = 127, MOST_TAPS = LK_MOST_TAPS };

// Magnitudes in the order of their numbers, which the compiler vectorizes.
static int32_t magnitude_bits(float number) {
    int32_t bits;
    memcpy(&bits, &number, sizeof bits);
    return bits & 0x7FFFFFFF;
}

// The larger of the largest magnitude and that of a sum of two neighboring inputs of a tap, of numbers[input][tap].
static float largest_magnitude(const float *numbers, size_t inputs, size_t taps) {
    int32_t largest = 0;
    for (size_t i = 0; i < inputs * taps; i++) {
        const int32_t bits = magnitude_bits(numbers[i]);
        largest = bits > largest ? bits : largest;
    }
    for (size_t input = 0; input + 1 < inputs; input += 2)
        for (size_t i = input * taps; i < (input + 1) * taps; i++) {
            const int32_t bits = magnitude_bits(numbers[i] + numbers[i + taps]);
            largest = bits > largest ? bits : largest;
        }
    return lk_float_of_bits((uint32_t)largest);
}

// Rounds to nearest, halves away from zero: adds the largest float below a half, with the sign of the value, and
// truncates. Exact for the magnitudes up to 127 that occur. Returns the sum of the codes.
static int32_t quantize(const float *weights, size_t count, float step, int8_t *codes) {
    int32_t sum = 0;
    for (size_t i = 0; i < count; i++) {
        const float value = weights[i] / step;
        const int32_t code = (int32_t)(value + __builtin_copysignf(0x1.fffffep-2f, value));
        codes[i] = (int8_t)code;
        sum += code;
    }
    return sum;
}

// codes[output][input][tap] to packed[tap][quad][output][input in quad].
static void interleave(const int8_t *codes, size_t taps, int8_t *packed) {
    for (size_t tap = 0; tap < taps; tap++)
        for (size_t input = 0; input < BLOCK; input += QUAD)
            for (size_t output = 0; output < BLOCK; output++) {
                const int8_t *from = codes + (output * BLOCK + input) * taps + tap;
                const int8_t four[QUAD] = {from[0], from[taps], from[2 * taps], from[3 * taps]};
                memcpy(packed, four, sizeof four);
                packed += QUAD;
            }
}

void lk_pack_quantized_weights(const void *weights, lk_number_format format, size_t outputs, size_t inputs, size_t taps,
                               float *steps, int64_t *sums, int8_t *packed) {
    const size_t size = lk_number_size(format), row_bytes = inputs * taps * size;
    const uint8_t *bytes = weights;
    float numbers[BLOCK * MOST_TAPS];
    for (size_t row = 0; row < BLOCK; row++) {
        float largest = 0;
        for (size_t input = 0; row < outputs && input < inputs; input += BLOCK) {
            const size_t count = inputs - input < BLOCK ? inputs - input : BLOCK;
            lk_widen(bytes + row * row_bytes + input * taps * size, format, count * taps, numbers);
            const float part = largest_magnitude(numbers, count, taps);
            largest = part > largest ? part : largest;
        }
        // Weights this small get codes of 0: their step would be subnormal, or 0.
        steps[row] = largest >= LARGEST_CODE * FLT_MIN ? largest / LARGEST_CODE : 1;
        sums[row] = 0;
    }
    int8_t codes[BLOCK * BLOCK * MOST_TAPS];
    for (size_t input = 0; input < inputs; input += BLOCK) {
        const size_t count = (inputs - input < BLOCK ? inputs - input : BLOCK) * taps;
        if (count < BLOCK * taps || outputs < BLOCK) memset(codes, 0, BLOCK * BLOCK * taps);
        for (size_t row = 0; row < outputs; row++) {
            lk_widen(bytes + row * row_bytes + input * taps * size, format, count, numbers);
            sums[row] += quantize(numbers, count, steps[row], codes + row * BLOCK * taps);
        }
        interleave(codes, taps, packed);
        packed += BLOCK * BLOCK * taps;
    }
}
