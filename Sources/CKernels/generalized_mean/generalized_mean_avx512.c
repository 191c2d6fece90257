#if defined(__x86_64__)
#include "../kernel_tables.h"
#include "../target_avx512.h"

#define GENERALIZED_MEAN lk_generalized_mean_avx512
#include "generalized_mean_lanes.h"

#pragma clang attribute pop
#endif
