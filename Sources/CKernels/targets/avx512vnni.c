// AVX-512 with dot products of int8 (VNNI).

#if defined(__x86_64__)
#include "../kernel_tables.h"

#define KERNEL(name) lk_##name##_avx512vnni
#define LK_AVX512
#pragma clang attribute push(                                                                                          \
    __attribute__((target("avx512f,avx512bw,avx512dq,avx512vl,avx512vnni,avx2,fma,f16c"), min_vector_width(512))),     \
    apply_to = function)

#include "../vector.h"
#include "../quantized_convolution/quantized_convolution_avx512vnni.h"
#include "../quantized_distance/quantized_distance_avx512vnni.h"

#pragma clang attribute pop

const lk_kernels lk_kernels_avx512vnni = {.name = "avx512vnni",
                                          .has_fast_int8_dot_product = true,
                                          .has_fast_int8_scan = true,
                                          LK_ENTRIES(avx512, avx512vnni, avx512vnni)};
#endif
