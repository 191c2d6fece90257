#if defined(__x86_64__)
#include "../kernel_tables.h"
#include "../target_avx2.h"

#define DEPTHWISE_PIXELS 6
#define CONVOLVE_DEPTHWISE lk_convolve_depthwise_avx2
#include "depthwise_lanes.h"

#pragma clang attribute pop
#endif
