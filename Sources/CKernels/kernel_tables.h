// What each tier's files provide to its table.

#ifndef LOOKALIKE_KERNEL_TABLES_H
#define LOOKALIKE_KERNEL_TABLES_H

#include "CKernels.h"

#define LK_DECLARE_TIER(suffix)                                                                   \
    void lk_convolve_##suffix(const lk_convolution *, int32_t, int32_t, int32_t, int32_t);        \
    void lk_squared_distances_##suffix(const float *, const float *, ptrdiff_t, size_t, size_t,   \
                                       float *);                                                  \
    void lk_dot_products_##suffix(const float *, const float *, ptrdiff_t, size_t, size_t,        \
                                  float *);                                                       \
    void lk_sum_rows_##suffix(const uint8_t *, ptrdiff_t, int32_t, size_t, uint16_t *);           \
    void lk_sum_columns_##suffix(const uint16_t *, int32_t, int32_t, int32_t, float *);           \
    void lk_filter_columns_##suffix(const float *, const lk_filter_span *, const float *,         \
                                    int32_t, float *);                                            \
    void lk_accumulate_##suffix(const float *, float, size_t, float *);

#define LK_TABLE(tier_value, suffix)                                                              \
    { tier_value, #suffix, lk_convolve_##suffix, lk_squared_distances_##suffix,                   \
      lk_dot_products_##suffix, lk_sum_rows_##suffix, lk_sum_columns_##suffix,                    \
      lk_filter_columns_##suffix, lk_accumulate_##suffix }

LK_DECLARE_TIER(portable)
#if defined(__x86_64__)
LK_DECLARE_TIER(avx2)
LK_DECLARE_TIER(avx512)
#elif defined(__aarch64__)
LK_DECLARE_TIER(neon)
#endif

#endif
