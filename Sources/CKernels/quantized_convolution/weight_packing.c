// int8 weights in the order in which convolve_quantized reads them. One version for all targets: a model's weights are
// packed once.

#include <string.h>

#include "CKernels.h"

enum { BLOCK = LK_CHANNEL_BLOCK, QUAD = 4, LARGEST_CODE = 127, MOST_TAPS = LK_MOST_TAPS };

// The largest magnitude, by comparing bits, which order as the magnitudes do and which a compiler compares in vectors.
static float largest_magnitude(const float *weights, size_t count) {
    int32_t largest = 0;
    for (size_t i = 0; i < count; i++) {
        int32_t bits;
        memcpy(&bits, weights + i, sizeof bits);
        bits &= 0x7FFFFFFF;
        largest = bits > largest ? bits : largest;
    }
    float result;
    memcpy(&result, &largest, sizeof result);
    return result;
}

// Rounds to nearest, halves away from zero: adds the largest float below a half, with the sign of the value, and
// truncates. Exact for the magnitudes up to 127 that occur.
static void quantize(const float *weights, size_t count, float step, int8_t *codes) {
    for (size_t i = 0; i < count; i++) {
        const float value = weights[i] / step;
        codes[i] = (int8_t)(int32_t)(value + __builtin_copysignf(0x1.fffffep-2f, value));
    }
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

void lk_pack_quantized_weights(const float *weights, size_t outputs, size_t inputs, size_t taps, size_t output_block,
                               float *steps, int8_t *packed) {
    const size_t first = output_block * BLOCK, rows = outputs - first < BLOCK ? outputs - first : BLOCK;
    const float *block = weights + first * inputs * taps;
    for (size_t row = 0; row < BLOCK; row++) {
        const float largest = row < rows ? largest_magnitude(block + row * inputs * taps, inputs * taps) : 0;
        steps[row] = largest > 0 ? largest / LARGEST_CODE : 1;
    }
    int8_t codes[BLOCK * BLOCK * MOST_TAPS];
    for (size_t input = 0; input < inputs; input += BLOCK) {
        const size_t count = inputs - input < BLOCK ? inputs - input : BLOCK;
        if (count < BLOCK || rows < BLOCK) memset(codes, 0, BLOCK * BLOCK * taps);
        for (size_t row = 0; row < rows; row++)
            quantize(block + (row * inputs + input) * taps, count * taps, steps[row], codes + row * BLOCK * taps);
        interleave(codes, taps, packed);
        packed += BLOCK * BLOCK * taps;
    }
}
