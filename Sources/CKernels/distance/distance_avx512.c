#if defined(__x86_64__)
#include "../kernel_tables.h"
#include "../target_avx512.h"

#define SQUARED_DISTANCES lk_squared_distances_avx512
#define DOT_PRODUCTS lk_dot_products_avx512
#include "distance_lanes.h"

#pragma clang attribute pop
#endif
