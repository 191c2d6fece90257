void KERNEL(best_two)(const int32_t *dots, int32_t offset, const float *scales, size_t count, lk_best_two *out) {
    *out = (lk_best_two){-INFINITY, -INFINITY, 0};
    for (size_t i = 0; i < count; i++) {
        const float value = (float)(dots[i] - offset) * scales[i];
        if (value > out->best) {
            *out = (lk_best_two){value, out->best, (int32_t)i};
        } else if (value > out->second) {
            out->second = value;
        }
    }
}

void KERNEL(signatures)(const uint8_t *limits, const uint8_t *centers, const uint16_t *words, size_t count,
                        uint64_t *signatures) {
    for (size_t i = 0; i < count; i++) {
        signatures[i] = 0;
        for (size_t bit = 0; bit < 64; bit++)
            signatures[i] |= (uint64_t)(limits[bit] > centers[words[i] * 64 + bit]) << bit;
    }
}

uint32_t KERNEL(restore_descriptor)(const uint8_t *center, uint64_t above, uint64_t far, const uint8_t *near_offsets,
                                    const uint8_t *far_offsets, uint8_t zero, uint8_t *row) {
    uint32_t squares = 0;
    for (size_t i = 0; i < 64; i++) {
        const int32_t offset = far >> i & 1 ? far_offsets[i] : near_offsets[i];
        const int32_t value = above >> i & 1 ? center[i] + offset : center[i] - offset;
        row[i] = (uint8_t)(value < 0 ? 0 : value > 255 ? 255 : value);
        squares += (uint32_t)((row[i] - zero) * (row[i] - zero));
    }
    return squares;
}

size_t KERNEL(hamming_within)(uint32_t signature, const uint32_t *signatures, size_t count, uint32_t limit,
                              lk_hamming *found) {
    size_t kept = 0;
    for (size_t i = 0; i < count; i++) {
        uint32_t distance = 0;
        for (uint32_t bits = signature ^ signatures[i]; bits; bits &= bits - 1) distance++;
        if (distance <= limit) found[kept++] = (lk_hamming){(uint32_t)i, distance};
    }
    return kept;
}
