#if defined(__aarch64__)
#include "../kernel_tables.h"

#define BEST_TWO lk_best_two_neon
#define HAMMING_WITHIN lk_hamming_within_neon
#include "descriptor_matching_lanes.h"

#endif
