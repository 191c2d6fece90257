// NEON with dot products of int8.

#if defined(__aarch64__)
#include "../kernel_tables.h"

#define KERNEL(name) lk_##name##_neondotprod
#pragma clang attribute push(__attribute__((target("dotprod"))), apply_to = function)

#include "../vector.h"
#include "../quantized_convolution/quantized_convolution_neondotprod.h"
#include "../quantized_distance/quantized_distance_neondotprod.h"

#pragma clang attribute pop

const lk_kernels lk_kernels_neondotprod = {.name = "neondotprod",
                                           .has_fast_int8_dot_product = true,
                                           .has_fast_int8_scan = true,
                                           LK_ENTRIES(neon, neondotprod, neondotprod)};
#endif
