#include "CKernels.h"

static const uint64_t ONES = 0x0101010101010101, TOPS = 0x8080808080808080;

// In each byte, the set bits of this byte and those below it (S. Vigna, "Broadword Implementation of Rank/Select
// Queries", 2008). Without instructions that not every CPU has.
static uint64_t byte_sums(uint64_t bits) {
    bits -= bits >> 1 & 0x5555555555555555;
    bits = (bits & 0x3333333333333333) + (bits >> 2 & 0x3333333333333333);
    return ((bits + (bits >> 4)) & 0x0f0f0f0f0f0f0f0f) * ONES;
}

void lk_read_coded(const lk_coded_list *list, const lk_hamming *found, size_t count, uint32_t *numbers) {
    size_t word = list->start >> 6, passed = 0;
    uint64_t bits = word < list->high_words ? list->highs[word] & ~UINT64_C(0) << (list->start & 63) : 0;
    uint64_t sums = byte_sums(bits);
    for (size_t i = 0; i < count; i++) {
        const size_t place = found[i].index;
        numbers[i] = UINT32_MAX;
        while (word < list->high_words && passed + (sums >> 56) <= place) {
            passed += sums >> 56;
            if (++word == list->high_words) break;
            bits = list->highs[word];
            sums = byte_sums(bits);
        }
        if (word >= list->high_words) continue;
        // The bytes whose sums do not exceed the rank come before that of the bit.
        uint64_t rank = place - passed;
        const uint64_t bytes = (((rank * ONES | TOPS) - sums & TOPS) >> 7) * ONES >> 56;
        rank -= (sums << 8) >> 8 * bytes & 0xff;
        uint64_t rest = bits >> 8 * bytes;
        for (; rank; rank--) rest &= rest - 1;
        const uint64_t high = (uint64_t)word * 64 + 8 * bytes + (uint64_t)__builtin_ctzll(rest) - list->start - place;
        uint64_t low = 0;
        if (list->low_bits) {
            const size_t bit = (list->first + place) * list->low_bits;
            const uint64_t *lows = list->lows + (bit >> 6);
            low = (lows[0] >> (bit & 63) | lows[1] << 1 << (63 - (bit & 63))) & ((UINT64_C(1) << list->low_bits) - 1);
        }
        if (high <= UINT32_MAX >> list->low_bits) numbers[i] = (uint32_t)(high << list->low_bits | low);
    }
}
