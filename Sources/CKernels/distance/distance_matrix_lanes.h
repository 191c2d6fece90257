// Distances from products of matrices: sixteen rows and four queries at a time are transposed in registers, so that
// the products are read and the distances are written once.

// Of the rows 0, 4, 8 and 12 from `p` on, the numbers of four queries.
LK_INLINE lk_f32x16 every_fourth_row(const float *p, size_t step) {
    lk_f32x4 rows[4];
    for (size_t row = 0; row < 4; row++) memcpy(&rows[row], p + 4 * row * step, sizeof rows[row]);
    const lk_f32x8 low = __builtin_shufflevector(rows[0], rows[1], 0, 1, 2, 3, 4, 5, 6, 7);
    const lk_f32x8 high = __builtin_shufflevector(rows[2], rows[3], 0, 1, 2, 3, 4, 5, 6, 7);
    return __builtin_shufflevector(low, high, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
}

// In each quarter of the vectors: the first halves one number after the other, the last halves so, both first halves,
// both last halves.
#define LOW_PAIRS(a, b) __builtin_shufflevector(a, b, 0, 16, 1, 17, 4, 20, 5, 21, 8, 24, 9, 25, 12, 28, 13, 29)
#define HIGH_PAIRS(a, b) __builtin_shufflevector(a, b, 2, 18, 3, 19, 6, 22, 7, 23, 10, 26, 11, 27, 14, 30, 15, 31)
#define LOW_HALVES(a, b) __builtin_shufflevector(a, b, 0, 1, 16, 17, 4, 5, 20, 21, 8, 9, 24, 25, 12, 13, 28, 29)
#define HIGH_HALVES(a, b) __builtin_shufflevector(a, b, 2, 3, 18, 19, 6, 7, 22, 23, 10, 11, 26, 27, 14, 15, 30, 31)

// The products of four queries with sixteen rows: a line for each query.
LK_INLINE void load_lines(const float *p, size_t step, lk_f32x16 lines[4]) {
    lk_f32x16 rows[4];
    for (size_t row = 0; row < 4; row++) rows[row] = every_fourth_row(p + row * step, step);
    const lk_f32x16 low01 = LOW_PAIRS(rows[0], rows[1]), low23 = LOW_PAIRS(rows[2], rows[3]);
    const lk_f32x16 high01 = HIGH_PAIRS(rows[0], rows[1]), high23 = HIGH_PAIRS(rows[2], rows[3]);
    lines[0] = LOW_HALVES(low01, low23);
    lines[1] = HIGH_HALVES(low01, low23);
    lines[2] = LOW_HALVES(high01, high23);
    lines[3] = HIGH_HALVES(high01, high23);
}

#undef LOW_PAIRS
#undef HIGH_PAIRS
#undef LOW_HALVES
#undef HIGH_HALVES

// Up to four queries. Returns whether they have small distances, a bit for each.
LK_INLINE uint16_t write_lines(const float *products, size_t step, size_t count, const float *row_norms,
                               const float *query_norms, size_t queries, float share, bool is_rooted, float *out,
                               ptrdiff_t out_stride) {
    lk_i32x16 are_small[4] = {{0}};
    for (size_t row = 0; row < count; row += 16) {
        const size_t rows = count - row < 16 ? count - row : 16;
        const lk_f32x16 sixteen = rows < 16 ? lk_load16_partial(row_norms + row, rows) : lk_load16(row_norms + row);
        lk_f32x16 lines[4];
        if (rows < 16) {
            float padded[16][4] = {{0}};
            for (size_t i = 0; i < rows; i++) memcpy(padded[i], products + (row + i) * step, sizeof padded[i]);
            load_lines(&padded[0][0], 4, lines);
        } else {
            load_lines(products + row * step, step, lines);
        }
        for (size_t query = 0; query < queries; query++) {
            float *line = out + (ptrdiff_t)query * out_stride + row;
            // The next four lines, which lie far from these.
            __builtin_prefetch(line + 4 * out_stride, 1);
            const lk_f32x16 norms = sixteen + query_norms[query], sum = lines[query] + norms;
            are_small[query] |= sum < norms * share;
            // Not below zero; what is no number stays so.
            lk_f32x16 result = (lk_f32x16)((lk_i32x16)sum & ~(sum < 0));
            if (is_rooted) result = lk_square_root(result);
            memcpy(line, &result, rows * sizeof(float));
        }
    }
    uint16_t small = 0;
    for (size_t query = 0; query < queries; query++) small |= (uint16_t)((lk_lanes(are_small[query]) != 0) << query);
    return small;
}

uint16_t KERNEL(write_distances)(const float *products, size_t step, size_t count, const float *row_norms,
                                 const float *query_norms, size_t queries, float share, bool is_rooted, float *out,
                                 ptrdiff_t out_stride) {
    uint16_t small = 0;
    size_t query = 0;
    for (; query + 4 <= queries; query += 4)
        small |= (uint16_t)(write_lines(products + query, step, count, row_norms, query_norms + query, 4, share,
                                        is_rooted, out + (ptrdiff_t)query * out_stride, out_stride)
                            << query);
    if (query < queries)
        small |= (uint16_t)(write_lines(products + query, step, count, row_norms, query_norms + query, queries - query,
                                        share, is_rooted, out + (ptrdiff_t)query * out_stride, out_stride)
                            << query);
    return small;
}
