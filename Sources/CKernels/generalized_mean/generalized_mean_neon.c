#if defined(__aarch64__)
#include "../kernel_tables.h"

#define GENERALIZED_MEAN lk_generalized_mean_neon
#include "generalized_mean_lanes.h"
#endif
