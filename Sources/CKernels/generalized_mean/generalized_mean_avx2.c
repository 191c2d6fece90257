#if defined(__x86_64__)
#include "../kernel_tables.h"
#include "../target_avx2.h"

#define GENERALIZED_MEAN lk_generalized_mean_avx2
#include "generalized_mean_lanes.h"

#pragma clang attribute pop
#endif
