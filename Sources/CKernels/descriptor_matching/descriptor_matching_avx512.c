#if defined(__x86_64__)
#include "../kernel_tables.h"
#include "../target_avx512.h"

#define BEST_TWO lk_best_two_avx512
#define HAMMING_WITHIN lk_hamming_within_avx512
#include "descriptor_matching_lanes.h"

#pragma clang attribute pop
#endif
