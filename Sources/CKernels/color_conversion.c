#include "CKernels.h"

// One version for all targets: it looks up more than it computes, and four lanes hold a pixel.
typedef float lanes __attribute__((vector_size(16), aligned(4)));
typedef int32_t integers __attribute__((vector_size(16)));

static inline integers clipped(lanes x) {
    const float last = LK_ENCODED_COUNT - 1;
    const lanes largest = {last, last, last, last};
    // Comparisons are -1 where they hold: they select the bits of a float.
    const integers is_small = x < largest;
    const integers bits = ((integers)x & is_small) | ((integers)largest & ~is_small);
    return __builtin_convertvector((lanes)(bits & ((lanes)bits > 0)), integers);
}

void lk_convert_colors(const float *shares, const uint8_t *encoded, size_t count, size_t channels, uint8_t *pixels) {
    const lanes *red = (const lanes *)shares, *green = red + 256, *blue = green + 256;
    for (size_t i = 0; i < count; i++, pixels += channels) {
        const integers linear = clipped(red[pixels[0]] + green[pixels[1]] + blue[pixels[2]]);
        pixels[0] = encoded[linear[0]];
        pixels[1] = encoded[linear[1]];
        pixels[2] = encoded[linear[2]];
    }
}
