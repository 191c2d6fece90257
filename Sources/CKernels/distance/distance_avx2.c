#if defined(__x86_64__)
#include "../kernel_tables.h"
#include "../target_avx2.h"

#define SQUARED_DISTANCES lk_squared_distances_avx2
#define DOT_PRODUCTS lk_dot_products_avx2
#include "distance_lanes.h"

#pragma clang attribute pop
#endif
