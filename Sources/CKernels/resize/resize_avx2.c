#if defined(__x86_64__)
#include "../kernel_tables.h"
#include "../target_avx2.h"

#define RESIZE(name) lk_##name##_avx2
#include "resize_lanes.h"

#pragma clang attribute pop
#endif
