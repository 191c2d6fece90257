// The two nearest of a row of dot products, and signatures and their Hamming distances.

typedef uint8_t lk_u8x64 __attribute__((vector_size(64)));
typedef _Bool lk_boolx64 __attribute__((ext_vector_type(64)));
typedef uint32_t lk_u32x16 __attribute__((vector_size(64)));

void KERNEL(best_two)(const int32_t *dots, int32_t offset, const float *scales, size_t count, lk_best_two *out) {
    lk_f32x16 best = lk_splat16(-INFINITY), second = best;
    lk_i32x16 places = {0}, place = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};
    lk_i32x16 offsets;
    for (int lane = 0; lane < 16; lane++) offsets[lane] = offset;
    for (size_t i = 0; i < count; i += 16, place += 16) {
        lk_i32x16 dot;
        memcpy(&dot, dots + i, sizeof dot);
        lk_f32x16 value = __builtin_convertvector(dot - offsets, lk_f32x16) * lk_load16(scales + i);
        lk_i32x16 above = value > best;
        second = __builtin_elementwise_max(second, __builtin_elementwise_min(value, best));
        best = __builtin_elementwise_max(value, best);
        places = (above & place) | (~above & places);
    }
    // The first row wins among equal values, as in a loop over the rows.
    int winner = 0;
    for (int lane = 1; lane < 16; lane++)
        if (best[lane] > best[winner] || (best[lane] == best[winner] && places[lane] < places[winner])) winner = lane;
    float runner_up = second[winner];
    for (int lane = 0; lane < 16; lane++)
        if (lane != winner && best[lane] > runner_up) runner_up = best[lane];
    *out = (lk_best_two){best[winner], runner_up, places[winner]};
}

void KERNEL(signatures)(const uint8_t *limits, const uint8_t *centers, size_t depth, const uint16_t *words,
                        size_t count, uint64_t *signatures) {
    lk_u8x64 limit;
    memcpy(&limit, limits, sizeof limit);
    for (size_t i = 0; i < count; i++) {
        lk_u8x64 center;
        memcpy(&center, centers + words[i] * depth, sizeof center);
        lk_boolx64 above = __builtin_convertvector(limit > center, lk_boolx64);
        memcpy(signatures + i, &above, sizeof *signatures);
    }
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
        if (!__builtin_reduce_or(v <= (one * limit))) continue;
        for (int lane = 0; lane < 16; lane++)
            if (v[lane] <= limit) found[kept++] = (lk_hamming){(uint32_t)i + (uint32_t)lane, v[lane]};
    }
    for (; i < count; i++) {
        uint32_t distance = (uint32_t)__builtin_popcount(signature ^ signatures[i]);
        if (distance <= limit) found[kept++] = (lk_hamming){(uint32_t)i, distance};
    }
    return kept;
}
