// All products, in tiles of TILE_QUERIES queries and sixteen rows. The including file defines TILE_QUERIES and
// product_tile.

void KERNEL(quantized_products)(const int8_t *queries, size_t query_count, const uint8_t *packed, size_t groups,
                                size_t quads, int32_t *out) {
    const size_t out_stride = groups * 16;
    for (size_t g = 0; g < groups; g++) {
        const uint8_t *tile = packed + g * quads * 64;
        size_t q = 0;
        for (; q + TILE_QUERIES <= query_count; q += TILE_QUERIES)
            product_tile(queries + q * quads * 4, tile, quads, out + q * out_stride + g * 16, out_stride, TILE_QUERIES);
        for (; q < query_count; q++)
            product_tile(queries + q * quads * 4, tile, quads, out + q * out_stride + g * 16, out_stride, 1);
    }
}
