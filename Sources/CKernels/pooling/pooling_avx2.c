#if defined(__x86_64__)
#include "../kernel_tables.h"
#include "../target_avx2.h"

#define POOL lk_pool_avx2
#include "pooling_lanes.h"

#pragma clang attribute pop
#endif
