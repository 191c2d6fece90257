LK_INLINE void lk_sum_columns(const uint8_t *tables, const uint8_t *codes, size_t columns,
                              uint16_t sums[LK_BINARY_BLOCK]) {
    memset(sums, 0, LK_BINARY_BLOCK * sizeof *sums);
    for (size_t column = 0; column < columns; column++)
        for (int i = 0; i < LK_BINARY_BLOCK; i++) {
            const uint8_t bits = codes[column * 16 + (size_t)i % 16];
            sums[i] += tables[column * 16 + (i < 16 ? bits & 15 : bits >> 4)];
        }
}

#include "binary_selection.h"
