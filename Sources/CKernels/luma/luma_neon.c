#if defined(__aarch64__)
#include "../kernel_tables.h"

#define LUMA_ROW lk_luma_row_neon
#define FILTER_ROW lk_filter_row_neon
#include "luma_lanes.h"
#endif
