#if defined(__x86_64__)
#include "../kernel_tables.h"
#include "../target_avx2.h"

#define QUANTIZED_DOT_PRODUCTS lk_quantized_dot_products_avx2
#define QUANTIZED_PRODUCTS lk_quantized_products_avx2
#define PACK_QUANTIZED_ROWS lk_pack_quantized_rows_avx2
#define SELECT_CANDIDATES lk_select_candidates_avx2
#include "quantized_distance_plain.h"

#pragma clang attribute pop
#endif
