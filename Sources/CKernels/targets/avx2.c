// AVX2 with fused multiply-adds.

#if defined(__x86_64__)
#include "../kernel_tables.h"

#define KERNEL(name) lk_##name##_avx2
#pragma clang attribute push(__attribute__((target("avx2,fma,f16c"), min_vector_width(256))), apply_to = function)

#include "../lanes.h"
#include "../quantized_convolution/quantized_convolution_avx.h"
#include "../quantized_distance/quantized_distance_avx2.h"

#pragma clang attribute pop

// The table of CPUs that start one multiplication of integers per cycle, but two of floats.
const lk_kernels lk_kernels_avx2_slow_int8 = {.name = "avx2", .has_fast_int8_scan = true, LK_ENTRIES(avx2, avx2, avx2)};

const lk_kernels lk_kernels_avx2 = {
    .name = "avx2", .has_fast_int8_dot_product = true, .has_fast_int8_scan = true, LK_ENTRIES(avx2, avx2, avx2)};
#endif
