#if defined(__x86_64__)
#include <immintrin.h>

#include "../kernel_tables.h"
#include "../target_avx512.h"

#define ORIENTATION_HISTOGRAM lk_orientation_histogram_avx512
#define GRADIENT_DESCRIPTOR lk_gradient_descriptor_avx512
#define GATHER(floats, indices) (lk_f32x16) _mm512_i32gather_ps((__m512i)(indices), floats, 4)
#include "keypoint_descriptor_lanes.h"

#pragma clang attribute pop
#endif
