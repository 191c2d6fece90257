// The kernels that are written on the lanes of vector.h, for the SIMD target whose file includes this.

#include "vector.h"

#include "component_quantization/component_quantization_lanes.h"
#include "convolution/convolution_lanes.h"
#include "depthwise/depthwise_lanes.h"
#include "descriptor_matching/descriptor_matching_lanes.h"
#include "distance/distance_lanes.h"
#include "elementwise/elementwise_lanes.h"
#include "generalized_mean/generalized_mean_lanes.h"
#include "keypoint_descriptor/keypoint_descriptor_lanes.h"
#include "luma/luma_lanes.h"
#include "nearest_centers/nearest_centers_lanes.h"
#include "pooling/pooling_lanes.h"
#include "resize/box_filter_lanes.h"
#include "resize/resize_lanes.h"
#include "scale_space/scale_space_lanes.h"
#include "winograd/winograd_lanes.h"
