uint16_t KERNEL(write_distances)(const float *products, size_t step, size_t count, const float *row_norms,
                                 const float *query_norms, size_t queries, float share, bool is_rooted, float *out,
                                 ptrdiff_t out_stride) {
    uint16_t small = 0;
    for (size_t query = 0; query < queries; query++) {
        float *line = out + (ptrdiff_t)query * out_stride;
        for (size_t row = 0; row < count; row++) {
            const float norms = row_norms[row] + query_norms[query], sum = products[row * step + query] + norms;
            if (sum < norms * share) small |= (uint16_t)(1 << query);
            // Not below zero; what is no number stays so.
            const float squared = sum < 0 ? 0 : sum;
            line[row] = is_rooted ? sqrtf(squared) : squared;
        }
    }
    return small;
}
