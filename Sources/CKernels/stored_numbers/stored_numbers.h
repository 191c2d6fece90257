// One number of each format as float32, exact, and one float32 as the nearest half.

#ifndef LOOKALIKE_STORED_NUMBERS_H
#define LOOKALIKE_STORED_NUMBERS_H

#include <string.h>

#include "CKernels.h"

static inline float lk_float_of_bits(uint32_t bits) {
    float result;
    memcpy(&result, &bits, sizeof result);
    return result;
}

static inline uint32_t lk_bits_of_float(float number) {
    uint32_t bits;
    memcpy(&bits, &number, sizeof bits);
    return bits;
}

// IEEE 754 binary16, by hand, since not every CPU has an instruction. The exponent has another bias; infinity and NaN
// get the largest one. Subnormals: puts the fraction on top of 2^-14, then subtracts 2^-14.
static inline float lk_float_of_half(uint16_t half) {
    const uint32_t bits = (uint32_t)(half & 0x7FFF) << 13, smallest_normal = 113u << 23;
    const float difference = lk_float_of_bits(bits + smallest_normal) - lk_float_of_bits(smallest_normal);
    uint32_t magnitude = lk_bits_of_float(difference);
    if ((half & 0x7C00) != 0) magnitude = bits + (112u << 23);
    if ((half & 0x7C00) == 0x7C00) magnitude = bits | 0x7F800000;
    return lk_float_of_bits(magnitude | (uint32_t)(half & 0x8000) << 16);
}

// The nearest binary16, even on a tie. A normal number loses 13 bits of its fraction: half of what is lost, less one
// unless the last kept bit is odd, carries into what is kept. Subnormals: a sum with 0.5, whose last bit is worth 2^-24
// as that of a subnormal half is, is rounded by the processor.
static inline uint16_t lk_half_of_float(float number) {
    const uint32_t bits = lk_bits_of_float(number), magnitude = bits & 0x7FFFFFFF;
    const uint32_t too_large = 143u << 23, smallest_normal = 113u << 23;
    uint32_t half = (magnitude - (112u << 23) + 0xFFF + ((magnitude >> 13) & 1)) >> 13;
    if (magnitude < smallest_normal)
        half = lk_bits_of_float(lk_float_of_bits(magnitude) + 0.5f) - lk_bits_of_float(0.5f);
    if (magnitude >= too_large) half = magnitude > 0x7F800000 ? 0x7E00 : 0x7C00;
    return (uint16_t)(half | (bits >> 16 & 0x8000));
}

static inline float lk_float_of_bfloat(uint16_t number) { return lk_float_of_bits((uint32_t)number << 16); }

#endif
