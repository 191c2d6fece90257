#if defined(__aarch64__)
#include "../kernel_tables.h"

#define WINOGRAD(name) lk_winograd_##name##_neon
#include "winograd_lanes.h"
#endif
