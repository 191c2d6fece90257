#if defined(__aarch64__)
#include "../kernel_tables.h"

#define RESIZE(name) lk_##name##_neon
#include "resize_lanes.h"
#endif
