// AVX-512 with matrix products of int8 (AMX), for convolutions.

#if defined(__x86_64__)
#include "../kernel_tables.h"

#define KERNEL(name) lk_##name##_amx
#define LK_AVX512
#pragma clang attribute push(                                                                                          \
    __attribute__((target("amx-tile,amx-int8,avx512f,avx512bw,avx512dq,avx512vl,avx512vnni,avx2,fma,f16c"),            \
                   min_vector_width(512))),                                                                            \
    apply_to = function)

#include "../vector.h"
#include "../quantized_convolution/quantized_convolution_amx.h"

#pragma clang attribute pop

const lk_kernels lk_kernels_amx = {
    .name = "amx", .has_fast_int8_dot_product = true, .has_fast_int8_scan = true, LK_ENTRIES(avx512, amx, avx512vnni)};
#endif
