#if defined(__aarch64__)
#include "../kernel_tables.h"

#define QUANTIZED_DOT_PRODUCTS lk_quantized_dot_products_neon
#define QUANTIZED_PRODUCTS lk_quantized_products_neon
#define PACK_QUANTIZED_ROWS lk_pack_quantized_rows_neon
#define SELECT_CANDIDATES lk_select_candidates_neon
#include "quantized_distance_plain.h"
#endif
