// Numbers as files store them. One version for all targets: a model's numbers are read once.

#include "stored_numbers.h"

// A loop per format, so that each is vectorized: a network has millions of numbers.
void lk_widen(const void *numbers, lk_number_format format, size_t count, float *out) {
    const uint8_t *bytes = numbers;
    if (count == 0) return;
    switch (format) {
    case LK_FLOAT32: memcpy(out, bytes, count * sizeof *out); break;
    case LK_FLOAT16: lk_kernels_selected()->widen_halves(numbers, count, out); break;
    case LK_BFLOAT16:
        for (size_t i = 0; i < count; i++) {
            uint16_t number;
            memcpy(&number, bytes + i * sizeof number, sizeof number);
            out[i] = lk_float_of_bfloat(number);
        }
        break;
    case LK_UINT8:
        for (size_t i = 0; i < count; i++) out[i] = bytes[i];
        break;
    }
}

void lk_narrow(const float *numbers, size_t count, uint16_t *halves) {
    for (size_t i = 0; i < count; i++) halves[i] = lk_half_of_float(numbers[i]);
}

size_t lk_number_size(lk_number_format format) {
    switch (format) {
    case LK_FLOAT32: return 4;
    case LK_FLOAT16:
    case LK_BFLOAT16: return 2;
    case LK_UINT8: return 1;
    }
    return 0;
}

// An exponent that has all bits set carries into the sign if its lowest bit is added.
static bool halves_are_finite(const uint8_t *bytes, size_t count, uint16_t exponent, uint16_t lowest) {
    uint16_t carries = 0;
    for (size_t i = 0; i < count; i++) {
        uint16_t bits;
        memcpy(&bits, bytes + i * sizeof bits, sizeof bits);
        carries |= (uint16_t)((bits & exponent) + lowest);
    }
    return (carries & 0x8000) == 0;
}

bool lk_are_finite(const void *numbers, lk_number_format format, size_t count) {
    const uint8_t *bytes = numbers;
    switch (format) {
    case LK_FLOAT32: {
        uint32_t carries = 0;
        for (size_t i = 0; i < count; i++) {
            uint32_t bits;
            memcpy(&bits, bytes + i * sizeof bits, sizeof bits);
            carries |= (bits & 0x7F800000) + 0x00800000;
        }
        return (carries & 0x80000000) == 0;
    }
    case LK_FLOAT16: return halves_are_finite(bytes, count, 0x7C00, 0x0400);
    case LK_BFLOAT16: return halves_are_finite(bytes, count, 0x7F80, 0x0080);
    case LK_UINT8: return true;
    }
    return false;
}
