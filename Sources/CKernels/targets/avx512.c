// AVX-512.

#if defined(__x86_64__)
#include "../kernel_tables.h"

#define KERNEL(name) lk_##name##_avx512
#define LK_AVX512
#pragma clang attribute push(                                                                                          \
    __attribute__((target("avx512f,avx512bw,avx512dq,avx512vl,avx2,fma,f16c"), min_vector_width(512))),                \
    apply_to = function)

#include "../lanes.h"

#pragma clang attribute pop

const lk_kernels lk_kernels_avx512 = {.name = "avx512", .has_fast_int8_scan = true, LK_ENTRIES(avx512, avx2, avx2)};
#endif
