#if defined(__x86_64__)
#include "../kernel_tables.h"
#include "../target_avx512.h"

#define DEPTHWISE_PIXELS 14
#define CONVOLVE_DEPTHWISE lk_convolve_depthwise_avx512
#include "depthwise_lanes.h"

#pragma clang attribute pop
#endif
