#if defined(__x86_64__)
#include "../kernel_tables.h"
#include "../target_avx2.h"

#define ELEMENTWISE(name) lk_##name##_avx2
#include "elementwise_lanes.h"

#pragma clang attribute pop
#endif
