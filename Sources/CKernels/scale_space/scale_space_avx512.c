#if defined(__x86_64__)
#include "../kernel_tables.h"
#include "../target_avx512.h"

#define GAUSSIAN_BLUR lk_gaussian_blur_avx512
#define SCALE_SPACE_EXTREMA lk_scale_space_extrema_avx512
#include "scale_space_lanes.h"

#pragma clang attribute pop
#endif
