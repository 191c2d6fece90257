#if defined(__aarch64__)
#include "../kernel_tables.h"

#define GAUSSIAN_BLUR lk_gaussian_blur_neon
#define SCALE_SPACE_EXTREMA lk_scale_space_extrema_neon
#include "scale_space_lanes.h"

#endif
