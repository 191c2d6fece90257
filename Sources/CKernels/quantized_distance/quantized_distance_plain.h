// Sums of integers have no order, so the compiler's vectorizer may choose one.

#include "candidates.h"

void KERNEL(quantized_dot_products)(const int8_t *query, const uint8_t *rows, ptrdiff_t row_stride, size_t count,
                                    size_t dimension, int32_t *out) {
    for (size_t i = 0; i < count; i++) {
        const uint8_t *row = rows + (ptrdiff_t)i * row_stride;
        int32_t sum = 0;
        for (size_t j = 0; j < dimension; j++) sum += query[j] * row[j];
        out[i] = sum;
    }
}

void KERNEL(quantized_products)(const int8_t *queries, size_t query_count, const uint8_t *packed, size_t groups,
                                size_t quads, int32_t *out) {
    for (size_t q = 0; q < query_count; q++) {
        for (size_t group = 0; group < groups; group++) {
            int32_t sums[16] = {0};
            for (size_t quad = 0; quad < quads; quad++) {
                const int8_t *query = queries + (q * quads + quad) * 4;
                const uint8_t *rows = packed + (group * quads + quad) * 64;
                for (int r = 0; r < 16; r++)
                    for (int i = 0; i < 4; i++) sums[r] += query[i] * rows[r * 4 + i];
            }
            memcpy(out + (q * groups + group) * 16, sums, sizeof sums);
        }
    }
}
