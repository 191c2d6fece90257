#if defined(__x86_64__)
#include "../kernel_tables.h"
#include "../target_avx512.h"

#define QUANTIZE_COMPONENTS lk_quantize_components_avx512
#include "component_quantization_lanes.h"

#pragma clang attribute pop
#endif
