#if defined(__x86_64__)
#include <immintrin.h>

#include "../kernel_tables.h"
#include "../target_avx512.h"

#define RESIZE(name) lk_##name##_avx512
#define RESIZE_IN_512
#include "resize_lanes.h"

#pragma clang attribute pop
#endif
