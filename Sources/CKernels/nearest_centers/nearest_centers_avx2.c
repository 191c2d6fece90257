#if defined(__x86_64__)
#include "../kernel_tables.h"
#include "../target_avx2.h"

#define OFFER_CENTERS lk_offer_centers_avx2
#include "nearest_centers_lanes.h"

#pragma clang attribute pop
#endif
