#include <immintrin.h>

#pragma clang attribute push(__attribute__((target("avxvnni,avx2,fma"), min_vector_width(256))), apply_to = function)
