#if defined(__x86_64__)
#include "../kernel_tables.h"
#include "../target_avx512.h"

#define POOL lk_pool_avx512
#include "pooling_lanes.h"

#pragma clang attribute pop
#endif
