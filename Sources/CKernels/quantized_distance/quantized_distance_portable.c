#include "../kernel_tables.h"

#define QUANTIZED_DOT_PRODUCTS lk_quantized_dot_products_portable
#define QUANTIZED_PRODUCTS lk_quantized_products_portable
#define PACK_QUANTIZED_ROWS lk_pack_quantized_rows_portable
#define SELECT_CANDIDATES lk_select_candidates_portable
#include "quantized_distance_plain.h"
