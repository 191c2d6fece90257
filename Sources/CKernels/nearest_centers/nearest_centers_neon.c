#if defined(__aarch64__)
#include "../kernel_tables.h"

#define OFFER_CENTERS lk_offer_centers_neon
#include "nearest_centers_lanes.h"
#endif
