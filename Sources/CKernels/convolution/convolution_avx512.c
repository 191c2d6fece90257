#if defined(__x86_64__)
#include "../kernel_tables.h"
#include "../target_avx512.h"

// 28 accumulators, two weights and a broadcast in 32 registers.
#define TILE_PIXELS 14
#define TILE_BLOCKS 2
#define CONVOLVE lk_convolve_avx512
#include "convolution_tiles.h"

#pragma clang attribute pop
#endif
