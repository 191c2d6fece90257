#if defined(__aarch64__)
#include "../kernel_tables.h"

#define SQUARED_DISTANCES lk_squared_distances_neon
#define DOT_PRODUCTS lk_dot_products_neon
#include "distance_lanes.h"
#endif
