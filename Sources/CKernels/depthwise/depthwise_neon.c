#if defined(__aarch64__)
#include "../kernel_tables.h"

#define DEPTHWISE_PIXELS 6
#define CONVOLVE_DEPTHWISE lk_convolve_depthwise_neon
#include "depthwise_lanes.h"
#endif
