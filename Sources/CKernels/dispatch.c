#include <stdlib.h>
#include <string.h>

#include "kernel_tables.h"

static const lk_kernels portable = LK_TABLE(LK_TARGET_PORTABLE, portable, portable, portable, false, false);
#if defined(__x86_64__)
static const lk_kernels avx2 = LK_TABLE(LK_TARGET_AVX2, avx2, avx2, avx2, false, true);
static const lk_kernels avx512 = LK_TABLE(LK_TARGET_AVX512, avx512, avx512, avx2, false, true);
static const lk_kernels avx512vnni = LK_TABLE(LK_TARGET_AVX512VNNI, avx512vnni, avx512, avx512vnni, true, true);
#elif defined(__aarch64__)
static const lk_kernels neon = LK_TABLE(LK_TARGET_NEON, neon, neon, neon, false, false);
#endif

#if defined(__x86_64__)
static bool has_avx512(void) {
    return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
           __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
}
#endif

const lk_kernels *lk_kernels_for(lk_simd_target target) {
    switch (target) {
    case LK_TARGET_PORTABLE: return &portable;
#if defined(__x86_64__)
    case LK_TARGET_AVX2:
        __builtin_cpu_init();
        return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") ? &avx2 : NULL;
    case LK_TARGET_AVX512: __builtin_cpu_init(); return has_avx512() ? &avx512 : NULL;
    case LK_TARGET_AVX512VNNI:
        __builtin_cpu_init();
        return has_avx512() && __builtin_cpu_supports("avx512vnni") ? &avx512vnni : NULL;
#elif defined(__aarch64__)
    case LK_TARGET_NEON: return &neon;
#endif
    default: return NULL;
    }
}

static const lk_kernels *choose(void) {
    const char *wanted = getenv("LOOKALIKE_SIMD");
    const lk_kernels *best = &portable;
    for (lk_simd_target target = LK_TARGET_PORTABLE; target <= LK_TARGET_AVX512VNNI; target++) {
        const lk_kernels *kernels = lk_kernels_for(target);
        if (!kernels) continue;
        best = kernels;
        if (wanted && strcmp(wanted, kernels->name) == 0) return kernels;
    }
    return best;
}

const lk_kernels *lk_kernels_selected(void) {
    static const lk_kernels *selected;
    // Two threads that race here store the same pointer.
    const lk_kernels *known = __atomic_load_n(&selected, __ATOMIC_ACQUIRE);
    if (!known) {
        known = choose();
        __atomic_store_n(&selected, known, __ATOMIC_RELEASE);
    }
    return known;
}
