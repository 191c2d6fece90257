#if defined(__x86_64__)
#include "../kernel_tables.h"
#include "../target_avx2.h"

#define WINOGRAD(name) lk_winograd_##name##_avx2
#include "winograd_lanes.h"

#pragma clang attribute pop
#endif
