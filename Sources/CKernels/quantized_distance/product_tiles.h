// All products, in tiles of `tile_queries` queries and sixteen rows.

typedef void (*lk_product_tile)(const int8_t *queries, const uint8_t *packed, size_t quads, int32_t *out,
                                size_t out_stride, const int tile_queries);

// `tile` is a constant, so that it becomes a part of the loop.
LK_INLINE void products_in_tiles(const int8_t *queries, size_t query_count, const uint8_t *packed, size_t groups,
                                 size_t quads, int32_t *out, const size_t tile_queries, const lk_product_tile tile) {
    const size_t out_stride = groups * 16;
    for (size_t g = 0; g < groups; g++) {
        const uint8_t *rows = packed + g * quads * 64;
        size_t q = 0;
        for (; q + tile_queries <= query_count; q += tile_queries)
            tile(queries + q * quads * 4, rows, quads, out + q * out_stride + g * 16, out_stride, (int)tile_queries);
        for (; q < query_count; q++)
            tile(queries + q * quads * 4, rows, quads, out + q * out_stride + g * 16, out_stride, 1);
    }
}
