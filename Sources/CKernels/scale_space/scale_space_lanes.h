// Gaussian blur and extrema of differences of Gaussians, sixteen pixels at a time.

// Weighs 2 * radius + 1 rows for `columns` pixels, a multiple of 16. Inlined with a constant radius: the taps and the
// rows stay in registers.
LK_INLINE void weigh_rows_of(const int32_t radius, const float *const *rows, const float *taps, int32_t columns,
                             float *out) {
    for (int32_t x = 0; x < columns; x += 16) {
        lk_f32x16 sum = lk_load16(rows[radius] + x) * lk_splat16(taps[0]);
        for (int32_t k = 1; k <= radius; k++)
            sum = __builtin_elementwise_fma(lk_load16(rows[radius - k] + x) + lk_load16(rows[radius + k] + x),
                                            lk_splat16(taps[k]), sum);
        lk_store16(out + x, sum);
    }
}

LK_INLINE void weigh_rows(const float *const *rows, const float *taps, int32_t radius, int32_t columns, float *out) {
    switch (radius) {
    case 3: weigh_rows_of(3, rows, taps, columns, out); break;
    case 4: weigh_rows_of(4, rows, taps, columns, out); break;
    case 5: weigh_rows_of(5, rows, taps, columns, out); break;
    case 6: weigh_rows_of(6, rows, taps, columns, out); break;
    default: weigh_rows_of(radius, rows, taps, columns, out); break;
    }
}

// Weighs the neighbors of each pixel of a row, up to radius * spacing away. Inlined with constants: all neighbors are
// offsets from one address, and 13 pointers would not fit the registers.
LK_INLINE void weigh_neighbors_of(const int32_t radius, const int32_t spacing, const float *row, const float *taps,
                                  int32_t columns, float *out) {
    for (int32_t x = 0; x < columns; x += 16) {
        lk_f32x16 sum = lk_load16(row + x) * lk_splat16(taps[0]);
        for (int32_t k = 1; k <= radius; k++)
            sum = __builtin_elementwise_fma(lk_load16(row + x - k * spacing) + lk_load16(row + x + k * spacing),
                                            lk_splat16(taps[k]), sum);
        lk_store16(out + x, sum);
    }
}

// The radii and spacings of a scale space's Gaussians.
LK_INLINE void weigh_neighbors(const float *row, const float *taps, int32_t radius, int32_t spacing, int32_t columns,
                               float *out) {
    enum { MOST = LK_LARGEST_BLUR_RADIUS + 1 };
    switch (radius * MOST + spacing) {
    case 6 * MOST + 1: weigh_neighbors_of(6, 1, row, taps, columns, out); break;
    case 5 * MOST + 1: weigh_neighbors_of(5, 1, row, taps, columns, out); break;
    case 3 * MOST + 2: weigh_neighbors_of(3, 2, row, taps, columns, out); break;
    case 4 * MOST + 2: weigh_neighbors_of(4, 2, row, taps, columns, out); break;
    case 3 * MOST + 3: weigh_neighbors_of(3, 3, row, taps, columns, out); break;
    case 3 * MOST + 4: weigh_neighbors_of(3, 4, row, taps, columns, out); break;
    default: weigh_neighbors_of(radius, spacing, row, taps, columns, out); break;
    }
}

// Row by row: columns are weighed into `line`, and then along it.
void KERNEL(gaussian_blur)(const lk_plane *source, const float *taps, int32_t radius, int32_t spacing, int32_t first,
                           int32_t end, float *line, float *out) {
    const ptrdiff_t stride = source->stride;
    const int32_t width = source->width, height = source->height, columns = (width + 15) / 16 * 16;
    const int32_t reach = radius * spacing;
    float *row = line + LK_LARGEST_BLUR_RADIUS;
    const float *down[2 * LK_LARGEST_BLUR_RADIUS + 1];
    for (int32_t y = first; y < end; y++) {
        for (int32_t k = -radius; k <= radius; k++) {
            const int32_t at = y + k * spacing;
            down[k + radius] = source->pixels + (at < 0 ? 0 : at >= height ? height - 1 : at) * stride;
        }
        weigh_rows(down, taps, radius, columns, row);
        for (int32_t x = 1; x <= reach; x++) row[-x] = row[0];
        for (int32_t x = width; x < columns + reach; x++) row[x] = row[width - 1];
        weigh_neighbors(row, taps, radius, spacing, columns, out + y * stride);
    }
}

// Sixteen lanes that are kept or not.
#if defined(LK_AVX512)
typedef __mmask16 kept_lanes;
LK_INLINE kept_lanes first_lanes(int32_t count) { return count >= 16 ? 0xffff : (kept_lanes)((1u << count) - 1); }
LK_INLINE kept_lanes keep_above(kept_lanes kept, lk_f32x16 a, lk_f32x16 b) {
    return _mm512_mask_cmp_ps_mask(kept, (__m512)a, (__m512)b, _CMP_GT_OQ);
}
LK_INLINE kept_lanes keep_not_below(kept_lanes kept, lk_f32x16 a, lk_f32x16 b) {
    return _mm512_mask_cmp_ps_mask(kept, (__m512)a, (__m512)b, _CMP_GE_OQ);
}
LK_INLINE bool are_kept(kept_lanes kept) { return kept != 0; }
LK_INLINE bool is_kept(kept_lanes kept, int lane) { return kept >> lane & 1; }
#else
typedef lk_i32x16 kept_lanes;
LK_INLINE kept_lanes first_lanes(int32_t count) {
    const lk_i32x16 lanes = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};
    return lanes < (lanes * 0 + count);
}
LK_INLINE kept_lanes keep_above(kept_lanes kept, lk_f32x16 a, lk_f32x16 b) { return kept & (a > b); }
LK_INLINE kept_lanes keep_not_below(kept_lanes kept, lk_f32x16 a, lk_f32x16 b) { return kept & (a >= b); }
LK_INLINE bool are_kept(kept_lanes kept) { return __builtin_reduce_or(kept) != 0; }
LK_INLINE bool is_kept(kept_lanes kept, int lane) { return kept[lane] != 0; }
#endif

// Keeps the lanes whose value is not below `most` or not above `least`: the largest and the smallest of neighbors. One
// comparison for several neighbors, since AVX2 has no registers for masks.
LK_INLINE bool keep_extrema(lk_f32x16 value, lk_f32x16 most, lk_f32x16 least, kept_lanes *high, kept_lanes *low) {
    *high = keep_not_below(*high, value, most);
    *low = keep_not_below(*low, least, value);
    return are_kept(*high | *low);
}

// Differences of neighboring Gaussians are taken where they are needed: most pixels need two, those of the plane in the
// middle at the pixel itself and beside it, and planes of them would be written to memory and read again.
LK_INLINE lk_f32x16 difference(const float *const gaussians[4], int plane, ptrdiff_t at) {
    return lk_load16(gaussians[plane + 1] + at) - lk_load16(gaussians[plane] + at);
}

LK_INLINE void include(lk_f32x16 values, lk_f32x16 *most, lk_f32x16 *least) {
    *most = lk_max16(*most, values);
    *least = lk_min16(*least, values);
}

// The neighbors in the plane leave few extrema, those in the planes beside it fewer: most vectors need no more.
size_t KERNEL(scale_space_extrema)(const float *const gaussians[4], ptrdiff_t stride, int32_t width, int32_t first,
                                   int32_t end, int32_t border, float threshold, lk_pixel *found, size_t capacity) {
    const ptrdiff_t offsets[8] = {1, -1, stride, -stride, stride + 1, stride - 1, -stride + 1, -stride - 1};
    size_t count = 0;
    for (int32_t y = first; y < end; y++) {
        for (int32_t x = border; x < width - border; x += 16) {
            const ptrdiff_t at = y * stride + x;
            const lk_f32x16 value = difference(gaussians, 1, at);
            const kept_lanes inside = first_lanes(width - border - x);
            kept_lanes high = keep_above(inside, value, lk_splat16(threshold));
            kept_lanes low = keep_above(inside, lk_splat16(-threshold), value);
            if (!are_kept(high | low)) continue;
            lk_f32x16 most = difference(gaussians, 1, at + offsets[0]), least = most;
            for (int i = 1; i < 4; i++) include(difference(gaussians, 1, at + offsets[i]), &most, &least);
            if (!keep_extrema(value, most, least, &high, &low)) continue;
            for (int plane = 0; plane < 3; plane += 2) include(difference(gaussians, plane, at), &most, &least);
            if (!keep_extrema(value, most, least, &high, &low)) continue;
            for (int plane = 0; plane < 3; plane++)
                for (int i = plane == 1 ? 4 : 0; i < 8; i++)
                    include(difference(gaussians, plane, at + offsets[i]), &most, &least);
            if (!keep_extrema(value, most, least, &high, &low)) continue;
            const kept_lanes extreme = high | low;
            for (int lane = 0; lane < 16; lane++) {
                if (!is_kept(extreme, lane)) continue;
                if (count == capacity) return count;
                found[count++] = (lk_pixel){x + lane, y};
            }
        }
    }
    return count;
}
