#if defined(__aarch64__)
#include "../kernel_tables.h"

#define ELEMENTWISE(name) lk_##name##_neon
#include "elementwise_lanes.h"
#endif
