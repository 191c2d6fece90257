#include "../kernel_tables.h"

#define QUANTIZED_DOT_PRODUCTS lk_quantized_dot_products_portable
#include "quantized_distance_plain.h"
