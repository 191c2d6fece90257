#if defined(__aarch64__)

#define CONVOLVE_QUANTIZED lk_convolve_quantized_neon
#include "quantized_convolution_plain.h"
#endif
