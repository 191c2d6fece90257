// AVX2 with dot products of int8 (VNNI).

#if defined(__x86_64__)
#include "../kernel_tables.h"

#define KERNEL(name) lk_##name##_avxvnni
#define LK_AVXVNNI
#pragma clang attribute push(__attribute__((target("avxvnni,avx2,fma,f16c"), min_vector_width(256))),                  \
                             apply_to = function)

#include "../vector.h"
#include "../quantized_convolution/quantized_convolution_avx.h"
#include "../quantized_distance/quantized_distance_avxvnni.h"

#pragma clang attribute pop

const lk_kernels lk_kernels_avxvnni = {.name = "avxvnni",
                                       .has_fast_int8_dot_product = true,
                                       .has_fast_int8_scan = true,
                                       LK_ENTRIES(avx2, avxvnni, avxvnni)};
#endif
