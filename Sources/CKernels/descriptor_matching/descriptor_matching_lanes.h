// The two nearest of a row of dot products, and signatures and their Hamming distances.

typedef uint8_t lk_u8x64 __attribute__((vector_size(64)));
typedef _Bool lk_boolx64 __attribute__((ext_vector_type(64)));
typedef uint32_t lk_u32x16 __attribute__((vector_size(64)));

// Numbers are finite: what the elementwise functions do for others takes as long again.
LK_INLINE lk_f32x16 larger(lk_f32x16 a, lk_f32x16 b) { return lk_choose(a > b, a, b); }
LK_INLINE lk_f32x16 smaller(lk_f32x16 a, lk_f32x16 b) { return lk_choose(a < b, a, b); }

LK_INLINE float largest(lk_f32x16 v) {
    v = larger(v, __builtin_shufflevector(v, v, 8, 9, 10, 11, 12, 13, 14, 15, 0, 1, 2, 3, 4, 5, 6, 7));
    v = larger(v, __builtin_shufflevector(v, v, 4, 5, 6, 7, 0, 1, 2, 3, 12, 13, 14, 15, 8, 9, 10, 11));
    v = larger(v, __builtin_shufflevector(v, v, 2, 3, 0, 1, 6, 7, 4, 5, 10, 11, 8, 9, 14, 15, 12, 13));
    v = larger(v, __builtin_shufflevector(v, v, 1, 0, 3, 2, 5, 4, 7, 6, 9, 8, 11, 10, 13, 12, 15, 14));
    return v[0];
}

void KERNEL(best_two)(const int32_t *dots, int32_t offset, const float *scales, size_t count, lk_best_two *out) {
    lk_f32x16 best = lk_splat16(-INFINITY), second = best;
    const lk_i32x16 zero = {0}, lanes = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};
    lk_i32x16 places = zero, place = lanes;
    for (size_t i = 0; i < count; i += 16, place += 16) {
        lk_i32x16 dot;
        memcpy(&dot, dots + i, sizeof dot);
        const lk_f32x16 value = __builtin_convertvector(dot - (zero + offset), lk_f32x16) * lk_load16(scales + i);
        const lk_i32x16 above = value > best;
        second = larger(second, smaller(value, best));
        best = larger(value, best);
        places = (above & place) | (~above & places);
    }
    // The first row wins among equal values, as in a loop over the rows.
    const float most = largest(best);
    const lk_i32x16 tied = best == lk_splat16(most);
    const int32_t row = __builtin_reduce_min((tied & places) | (~tied & (zero + INT32_MAX)));
    *out = (lk_best_two){most, largest(lk_choose(tied & (places == zero + row), second, best)), row};
}

void KERNEL(signatures)(const uint8_t *limits, const uint8_t *centers, const uint16_t *words, size_t count,
                        uint64_t *signatures) {
    lk_u8x64 limit;
    memcpy(&limit, limits, sizeof limit);
    for (size_t i = 0; i < count; i++) {
        lk_u8x64 center;
        memcpy(&center, centers + words[i] * 64, sizeof center);
        lk_boolx64 above = __builtin_convertvector(limit > center, lk_boolx64);
        memcpy(signatures + i, &above, sizeof *signatures);
    }
}

// A byte per bit: all bits set, or none.
LK_INLINE lk_u8x64 byte_mask(uint64_t bits) {
    lk_boolx64 lanes;
    memcpy(&lanes, &bits, sizeof bits);
    return -__builtin_convertvector(lanes, lk_u8x64);
}

uint32_t KERNEL(restore_descriptor)(const uint8_t *center, uint64_t above, uint64_t far, const uint8_t *near_offsets,
                                    const uint8_t *far_offsets, uint8_t zero, uint8_t *row) {
    lk_u8x64 middle, near_offset, far_offset;
    memcpy(&middle, center, sizeof middle);
    memcpy(&near_offset, near_offsets, sizeof near_offset);
    memcpy(&far_offset, far_offsets, sizeof far_offset);
    const lk_u8x64 is_far = byte_mask(far), is_above = byte_mask(above);
    const lk_u8x64 offset = (is_far & far_offset) | (~is_far & near_offset);
    // Sums that wrap become 255, and differences 0.
    const lk_u8x64 sum = middle + offset, difference = middle - offset;
    const lk_u8x64 up = sum | (lk_u8x64)(sum < middle), down = difference & (lk_u8x64)(difference <= middle);
    const lk_u8x64 restored = (is_above & up) | (~is_above & down);
    memcpy(row, &restored, sizeof restored);
    uint32_t squares = 0;
    for (size_t i = 0; i < 64; i++) squares += (uint32_t)((row[i] - zero) * (row[i] - zero));
    return squares;
}

size_t KERNEL(hamming_within)(uint32_t signature, const uint32_t *signatures, size_t count, uint32_t limit,
                              lk_hamming *found) {
    size_t kept = 0, i = 0;
    const lk_u32x16 one = {1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1};
    for (; i + 16 <= count; i += 16) {
        lk_u32x16 v;
        memcpy(&v, signatures + i, sizeof v);
        v ^= one * signature;
        // Counts bits in fields of 2, 4, 8, 16 and 32 bits.
        v -= (v >> 1) & (one * 0x55555555);
        v = (v & (one * 0x33333333)) + ((v >> 2) & (one * 0x33333333));
        v = (v + (v >> 4)) & (one * 0x0f0f0f0f);
        v += v >> 8;
        v = (v + (v >> 16)) & (one * 0x3f);
        uint16_t lanes = lk_lanes((lk_i32x16)(v <= one * limit));
        uint32_t distances[16];
        memcpy(distances, &v, sizeof v);
        for (; lanes; lanes &= lanes - 1) {
            const uint32_t lane = (uint32_t)__builtin_ctz(lanes);
            found[kept++] = (lk_hamming){(uint32_t)i + lane, distances[lane]};
        }
    }
    for (; i < count; i++) {
        uint32_t distance = (uint32_t)__builtin_popcount(signature ^ signatures[i]);
        if (distance <= limit) found[kept++] = (lk_hamming){(uint32_t)i, distance};
    }
    return kept;
}
