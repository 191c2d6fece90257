#if defined(__aarch64__)
#include "../kernel_tables.h"

#define QUANTIZE_COMPONENTS lk_quantize_components_neon
#include "component_quantization_lanes.h"
#endif
