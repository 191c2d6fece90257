// One number of each format as float32, exact.

#ifndef LOOKALIKE_STORED_NUMBERS_H
#define LOOKALIKE_STORED_NUMBERS_H

#include <string.h>

#include "CKernels.h"

static inline float lk_float_of_bits(uint32_t bits) {
    float result;
    memcpy(&result, &bits, sizeof result);
    return result;
}

// IEEE 754 binary16, by hand, since not every CPU has an instruction. The exponent has another bias; infinity and NaN
// get the largest one. Subnormals: puts the fraction on top of 2^-14, then subtracts 2^-14.
static inline float lk_float_of_half(uint16_t half) {
    const uint32_t bits = (uint32_t)(half & 0x7FFF) << 13, smallest_normal = 113u << 23;
    const float difference = lk_float_of_bits(bits + smallest_normal) - lk_float_of_bits(smallest_normal);
    uint32_t magnitude;
    memcpy(&magnitude, &difference, sizeof magnitude);
    if ((half & 0x7C00) != 0) magnitude = bits + (112u << 23);
    if ((half & 0x7C00) == 0x7C00) magnitude = bits | 0x7F800000;
    return lk_float_of_bits(magnitude | (uint32_t)(half & 0x8000) << 16);
}

static inline float lk_float_of_bfloat(uint16_t number) { return lk_float_of_bits((uint32_t)number << 16); }

#endif
