#if defined(__aarch64__)
#include "../kernel_tables.h"

#define POOL lk_pool_neon
#include "pooling_lanes.h"
#endif
