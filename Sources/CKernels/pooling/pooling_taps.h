#ifndef LOOKALIKE_POOLING_TAPS_H
#define LOOKALIKE_POOLING_TAPS_H

#include "../vector.h"

// The taps of a window that lie inside `size`: [first, end).
LK_INLINE void taps_inside(int32_t start, int32_t dilation, int32_t kernel, int32_t size, int32_t *first,
                           int32_t *end) {
    *first = start < 0 ? (-start + dilation - 1) / dilation : 0;
    *end = start >= size ? 0 : (size - start + dilation - 1) / dilation;
    if (*end > kernel) *end = kernel;
}

#endif
