#include "CLimits.h"

#include <string.h>

typedef uint64_t u64x8 __attribute__((vector_size(64)));
typedef float f32x16 __attribute__((vector_size(64)));

enum { CHAINS = 16 };

#define INLINE static inline __attribute__((always_inline))

INLINE uint64_t read_all(const uint8_t *bytes, size_t count) {
    // Four streams of a page each, which the prefetchers follow best.
    u64x8 sums[4] = {{0}};
    size_t i = 0;
    for (; i + 4 * 4096 <= count; i += 4 * 4096)
        for (size_t j = 0; j < 4096; j += 64)
            for (int s = 0; s < 4; s++) {
                u64x8 v;
                memcpy(&v, bytes + i + s * 4096 + j, sizeof v);
                sums[s] ^= v;
            }
    for (; i + 64 <= count; i += 64) {
        u64x8 v;
        memcpy(&v, bytes + i, sizeof v);
        sums[0] ^= v;
    }
    u64x8 sum = sums[0] ^ sums[1] ^ sums[2] ^ sums[3];
    uint64_t all = 0;
    for (int lane = 0; lane < 8; lane++) all ^= sum[lane];
    return all;
}

INLINE uint64_t multiply_add(uint64_t rounds) {
    f32x16 sums[CHAINS], x, y;
    for (int lane = 0; lane < 16; lane++) {
        x[lane] = 0.999f;
        y[lane] = 1e-3f;
    }
    for (int chain = 0; chain < CHAINS; chain++) sums[chain] = y * (float)chain;
    for (uint64_t round = 0; round < rounds; round++)
#pragma clang loop unroll(full)
        for (int chain = 0; chain < CHAINS; chain++) sums[chain] = __builtin_elementwise_fma(sums[chain], x, y);
    volatile float keep = 0;
    for (int chain = 0; chain < CHAINS; chain++) keep += sums[chain][0];
    return rounds * CHAINS * 16;
}

#if defined(__x86_64__)
__attribute__((target("avx512f,avx512bw,avx512dq,avx512vl,fma"), min_vector_width(512))) static uint64_t
read_512(const uint8_t *b, size_t n) {
    return read_all(b, n);
}
__attribute__((target("avx2,fma"), min_vector_width(256))) static uint64_t read_256(const uint8_t *b, size_t n) {
    return read_all(b, n);
}
__attribute__((target("avx512f,avx512bw,avx512dq,avx512vl,fma"), min_vector_width(512))) static uint64_t
multiply_512(uint64_t r) {
    return multiply_add(r);
}
__attribute__((target("avx2,fma"), min_vector_width(256))) static uint64_t multiply_256(uint64_t r) {
    return multiply_add(r);
}

static int has_512(void) { return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw"); }

uint64_t limit_read(const void *bytes, size_t count) {
    return has_512() ? read_512(bytes, count) : read_256(bytes, count);
}
uint64_t limit_multiply_add(uint64_t rounds) { return has_512() ? multiply_512(rounds) : multiply_256(rounds); }
#else
uint64_t limit_read(const void *bytes, size_t count) { return read_all(bytes, count); }
uint64_t limit_multiply_add(uint64_t rounds) { return multiply_add(rounds); }
#endif
