#if defined(__x86_64__)
#include "../kernel_tables.h"
#include "../target_avx512.h"

#define ELEMENTWISE(name) lk_##name##_avx512
#include "elementwise_lanes.h"

#pragma clang attribute pop
#endif
