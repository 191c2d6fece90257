// Sums of integers have no order, so the compiler's vectoriser may choose one; the including file defines
// QUANTIZED_DOT_PRODUCTS and sets the target.

void QUANTIZED_DOT_PRODUCTS(const int8_t *query, const uint8_t *rows, ptrdiff_t row_stride, size_t count,
                            size_t dimension, int32_t *out) {
    for (size_t i = 0; i < count; i++) {
        const uint8_t *row = rows + (ptrdiff_t)i * row_stride;
        int32_t sum = 0;
        for (size_t j = 0; j < dimension; j++) sum += query[j] * row[j];
        out[i] = sum;
    }
}
