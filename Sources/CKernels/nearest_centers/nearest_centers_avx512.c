#if defined(__x86_64__)
#include "../kernel_tables.h"
#include "../target_avx512.h"

#define OFFER_CENTERS lk_offer_centers_avx512
#include "nearest_centers_lanes.h"

#pragma clang attribute pop
#endif
