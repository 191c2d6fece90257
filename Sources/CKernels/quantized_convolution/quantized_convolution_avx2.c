#if defined(__x86_64__)
#include "../kernel_tables.h"
#include "../target_avx2.h"

#define CONVOLVE_QUANTIZED lk_convolve_quantized_avx2
#include "quantized_convolution_plain.h"

#pragma clang attribute pop
#endif
