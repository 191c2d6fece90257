#if defined(__aarch64__)
#include "../kernel_tables.h"

// 24 accumulators, four weights and a broadcast in 32 registers.
#define TILE_PIXELS 6
#define TILE_BLOCKS 1
#define CONVOLVE lk_convolve_neon
#include "convolution_tiles.h"
#endif
