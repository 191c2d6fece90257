#include <immintrin.h>

// For what vector.h has instructions of its own.
#define LK_AVX512

#pragma clang attribute push(                                                                                          \
    __attribute__((target("amx-tile,amx-int8,avx512f,avx512bw,avx512dq,avx512vl,avx512vnni,avx2,fma"),                 \
                   min_vector_width(512))),                                                                            \
    apply_to = function)
