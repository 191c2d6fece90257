// The reference, in plain C for any CPU. The transforms of Winograd have no order to choose, so its lanes are used.

#include "../kernel_tables.h"

#define KERNEL(name) lk_##name##_portable

#include "../stored_numbers/stored_numbers.h"
#include "../vector.h"
#include "../attention/attention_lanes.h"
#include "../binary_codes/binary_codes_portable.h"
#include "../component_quantization/component_quantization_portable.h"
#include "../convolution/convolution_portable.h"
#include "../depthwise/depthwise_portable.h"
#include "../descriptor_matching/descriptor_matching_portable.h"
#include "../distance/distance_portable.h"
#include "../distance/distance_matrix_portable.h"
#include "../elementwise/elementwise_portable.h"
#include "../generalized_mean/generalized_mean_portable.h"
#include "../keypoint_descriptor/keypoint_descriptor_portable.h"
#include "../lines/lines_portable.h"
#include "../luma/luma_portable.h"
#include "../nearest_centers/nearest_centers_portable.h"
#include "../pooling/pooling_portable.h"
#include "../resize/resize_portable.h"
#include "../scale_space/scale_space_portable.h"
#include "../quantized_convolution/quantized_convolution_plain.h"
#include "../quantized_distance/quantized_distance_plain.h"
#include "../winograd/winograd_lanes.h"

const lk_kernels lk_kernels_portable = {.name = "portable", LK_ENTRIES(portable, portable, portable)};
