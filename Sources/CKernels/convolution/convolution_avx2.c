#if defined(__x86_64__)
#include "../kernel_tables.h"
#include "../target_avx2.h"

// Twelve accumulators, two weights and a broadcast in 16 registers.
#define TILE_PIXELS 6
#define TILE_BLOCKS 1
#define CONVOLVE lk_convolve_avx2
#include "convolution_tiles.h"

#pragma clang attribute pop
#endif
