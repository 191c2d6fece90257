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

void KERNEL(signatures)(const uint8_t *limits, const uint8_t *centers, size_t depth, const uint16_t *words,
                        size_t count, uint64_t *signatures) {
    for (size_t i = 0; i < count; i++) {
        signatures[i] = 0;
        for (size_t bit = 0; bit < 64; bit++)
            signatures[i] |= (uint64_t)(limits[bit] > centers[words[i] * depth + bit]) << bit;
    }
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
