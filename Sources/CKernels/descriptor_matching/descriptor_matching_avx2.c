#if defined(__x86_64__)
#include "../kernel_tables.h"
#include "../target_avx2.h"

#define BEST_TWO lk_best_two_avx2
#define HAMMING_WITHIN lk_hamming_within_avx2
#include "descriptor_matching_lanes.h"

#pragma clang attribute pop
#endif
