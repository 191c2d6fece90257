#if defined(__x86_64__)
#include "../kernel_tables.h"
#include "../target_avx512.h"

#define WINOGRAD(name) lk_winograd_##name##_avx512
#include "winograd_lanes.h"

#pragma clang attribute pop
#endif
