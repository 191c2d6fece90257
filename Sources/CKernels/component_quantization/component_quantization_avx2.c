#if defined(__x86_64__)
#include "../kernel_tables.h"
#include "../target_avx2.h"

#define QUANTIZE_COMPONENTS lk_quantize_components_avx2
#include "component_quantization_lanes.h"

#pragma clang attribute pop
#endif
