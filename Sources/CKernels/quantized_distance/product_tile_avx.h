// Products of bytes, with add_products of quantized_convolution_avx.h: 16 rows times six queries in 12 registers.
// Without VNNI two neighboring codes of a query have to have a sum of at most 128 in magnitude.
enum { BYTE_QUERIES = 6, BYTE_VECTORS = 2 };

LK_INLINE void byte_product_tile(const int8_t *queries, const uint8_t *packed, size_t quads, int32_t *out,
                                 size_t out_stride, const int tile_queries) {
    __m256i sums[BYTE_QUERIES][BYTE_VECTORS];
#pragma clang loop unroll(full)
    for (int q = 0; q < tile_queries; q++)
#pragma clang loop unroll(full)
        for (int v = 0; v < BYTE_VECTORS; v++) sums[q][v] = _mm256_setzero_si256();
    for (size_t quad = 0; quad < quads; quad++) {
        __m256i rows[BYTE_VECTORS];
#pragma clang loop unroll(full)
        for (int v = 0; v < BYTE_VECTORS; v++) rows[v] = _mm256_loadu_si256((const __m256i *)(packed + quad * 64) + v);
#pragma clang loop unroll(full)
        for (int q = 0; q < tile_queries; q++) {
            int32_t four;
            memcpy(&four, queries + ((size_t)q * quads + quad) * 4, sizeof four);
            const __m256i query = _mm256_set1_epi32(four);
#pragma clang loop unroll(full)
            for (int v = 0; v < BYTE_VECTORS; v++) sums[q][v] = add_products(sums[q][v], rows[v], query);
        }
    }
#pragma clang loop unroll(full)
    for (int q = 0; q < tile_queries; q++)
#pragma clang loop unroll(full)
        for (int v = 0; v < BYTE_VECTORS; v++)
            _mm256_storeu_si256((__m256i *)(out + (size_t)q * out_stride) + v, sums[q][v]);
}
