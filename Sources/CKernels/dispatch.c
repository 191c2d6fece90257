// Linux's system calls.
#define _GNU_SOURCE
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#if defined(__x86_64__)
#include <cpuid.h>
#endif
#if defined(__x86_64__) && defined(__linux__)
#include <sys/syscall.h>
#include <unistd.h>
#endif
#if defined(__aarch64__) && defined(__linux__)
#include <sys/auxv.h>
#elif defined(__aarch64__) && defined(__APPLE__)
#include <sys/sysctl.h>
#endif

#include "kernel_tables.h"

#if defined(__x86_64__)
static bool has_avx2(void) {
    __builtin_cpu_init();
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && __builtin_cpu_supports("f16c");
}

// Agner Fog: "Instruction tables", vpmaddubsw and vpmaddwd.
static bool has_slow_int8(void) {
    return has_avx2() && (__builtin_cpu_is("haswell") || __builtin_cpu_is("broadwell") || __builtin_cpu_is("znver1") ||
                          __builtin_cpu_is("znver2"));
}

static bool has_fast_int8(void) { return has_avx2() && !has_slow_int8(); }

// VNNI on vectors of 32 bytes, which CPUs without AVX-512 may have: leaf 7 of cpuid, subleaf 1.
static bool has_avxvnni(void) {
    enum { AVX_VNNI = 1 << 4 };
    unsigned eax, ebx, ecx, edx;
    return has_avx2() && __get_cpuid_count(7, 1, &eax, &ebx, &ecx, &edx) && (eax & AVX_VNNI);
}

static bool has_avx512(void) {
    return has_avx2() && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
           __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
}

static bool has_avx512vnni(void) { return has_avx512() && __builtin_cpu_supports("avx512vnni"); }

// Whether the CPU has tiles and their int8 products, and the system lets this process use them.
static bool has_amx(void) {
#if defined(__linux__)
    // Leaf 7 of cpuid, and ARCH_REQ_XCOMP_PERM with XFEATURE_XTILEDATA of Linux's documentation of x86, xstate.rst.
    enum { AMX_TILE = 1 << 24, AMX_INT8 = 1 << 25, REQUEST_PERMISSION = 0x1023, TILE_DATA = 18 };
    unsigned eax, ebx, ecx, edx;
    return has_avx512vnni() && __get_cpuid_count(7, 0, &eax, &ebx, &ecx, &edx) && (edx & AMX_TILE) &&
           (edx & AMX_INT8) && syscall(SYS_arch_prctl, REQUEST_PERMISSION, TILE_DATA) == 0;
#else
    return false;
#endif
}
#elif defined(__aarch64__)
// The instructions sdot and udot, optional in Arm v8.2 and part of v8.4.
static bool has_dot_product(void) {
#if defined(__linux__)
    // HWCAP_ASIMDDP of Linux's documentation of arm64, elf_hwcaps.rst.
    return (getauxval(AT_HWCAP) & 1ul << 20) != 0;
#elif defined(__APPLE__)
    int is_there = 0;
    size_t size = sizeof is_there;
    return sysctlbyname("hw.optional.arm.FEAT_DotProd", &is_there, &size, NULL, 0) == 0 && is_there;
#else
    return false;
#endif
}
#endif

static bool is_there(void) { return true; }

// From worse to better.
static const struct {
    const lk_kernels *kernels;
    bool (*is_supported)(void);
    // Nobody has run it on such a CPU yet, so it has to prove itself on each one.
    bool needs_trial;
} targets[] = {
    {&lk_kernels_portable, is_there, false},
#if defined(__x86_64__)
    {&lk_kernels_avx2_slow_int8, has_slow_int8, false},
    {&lk_kernels_avx2, has_fast_int8, false},
    {&lk_kernels_avxvnni, has_avxvnni, false},
    {&lk_kernels_avx512, has_avx512, false},
    {&lk_kernels_avx512vnni, has_avx512vnni, false},
    {&lk_kernels_amx, has_amx, true},
#elif defined(__aarch64__)
    {&lk_kernels_neon, is_there, false},
    {&lk_kernels_neondotprod, has_dot_product, false},
#endif
};
enum { TARGET_COUNT = sizeof targets / sizeof *targets };

const lk_kernels *lk_kernels_at(int32_t index) {
    for (int i = 0; i < TARGET_COUNT; i++)
        if (targets[i].is_supported() && index-- == 0) return targets[i].kernels;
    return NULL;
}

static const lk_kernels *choose(void) {
    const char *wanted = getenv("LOOKALIKE_SIMD");
    const lk_kernels *best = &lk_kernels_portable;
    for (int i = 0; i < TARGET_COUNT; i++) {
        const lk_kernels *kernels = targets[i].kernels;
        double relative_time;
        if (!targets[i].is_supported()) continue;
        if (wanted && strcasecmp(wanted, kernels->name) == 0) return kernels;
        if (!targets[i].needs_trial ||
            (lk_try_quantized_convolution(kernels, best, &relative_time) && relative_time < 1))
            best = kernels;
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
