// NEON, which every 64-bit Arm CPU has.

#if defined(__aarch64__)
#include "../kernel_tables.h"

#define KERNEL(name) lk_##name##_neon

#include "../lanes.h"
#include "../quantized_convolution/quantized_convolution_plain.h"
#include "../quantized_distance/quantized_distance_plain.h"

const lk_kernels lk_kernels_neon = {.name = "neon", LK_ENTRIES(neon, neon, neon)};
#endif
