#if defined(__aarch64__)
#include "../kernel_tables.h"

#define ORIENTATION_HISTOGRAM lk_orientation_histogram_neon
#define GRADIENT_DESCRIPTOR lk_gradient_descriptor_neon
#include "keypoint_descriptor_lanes.h"

#endif
