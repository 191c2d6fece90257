#if defined(__x86_64__)
#include "../kernel_tables.h"
#include "../target_avx2.h"

#define LUMA_ROW lk_luma_row_avx2
#define FILTER_ROW lk_filter_row_avx2
#include "luma_lanes.h"

#pragma clang attribute pop
#endif
