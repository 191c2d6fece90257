// The functions that each target's files provide for its table.

#ifndef LOOKALIKE_KERNEL_TABLES_H
#define LOOKALIKE_KERNEL_TABLES_H

#include "CKernels.h"

#define LK_DECLARE_FLOAT(suffix)                                                                                       \
    void lk_convolve_##suffix(const lk_convolution *, int32_t, int32_t, int32_t, int32_t);                             \
    void lk_winograd_input_##suffix(const lk_winograd *, const float *, ptrdiff_t, ptrdiff_t, int32_t, float *);       \
    void lk_winograd_output_##suffix(const lk_winograd *, const float *, int32_t, const float *, const float *,        \
                                     float *, ptrdiff_t, ptrdiff_t, bool);                                             \
    void lk_convolve_depthwise_##suffix(const lk_depthwise_convolution *, int32_t, int32_t, int32_t, int32_t);         \
    void lk_pool_##suffix(const lk_pooling *, int32_t, int32_t);                                                       \
    void lk_activate_##suffix(const lk_activation *, const float *, size_t, float *);                                  \
    void lk_combine_##suffix(lk_combination, lk_operand, lk_operand, size_t, float *);                                 \
    void lk_quantize_##suffix(const float *, float, uint8_t, size_t, uint8_t *);                                       \
    void lk_dequantize_##suffix(const uint8_t *, float, uint8_t, size_t, float *);                                     \
    void lk_generalized_mean_##suffix(const float *, ptrdiff_t, int32_t, int32_t, float, float, float *);              \
    void lk_squared_distances_##suffix(const float *, const float *, ptrdiff_t, size_t, size_t, float *);              \
    void lk_dot_products_##suffix(const float *, const float *, ptrdiff_t, size_t, size_t, float *);                   \
    void lk_sum_rows_##suffix(const uint8_t *, ptrdiff_t, int32_t, size_t, uint16_t *);                                \
    void lk_sum_columns_##suffix(const uint16_t *, int32_t, int32_t, int32_t, bool, float *);                          \
    void lk_sum_cells_##suffix(const uint8_t *, ptrdiff_t, int32_t, int32_t, int32_t, float *);                        \
    void lk_filter_columns_##suffix(const float *, const lk_filter_span *, const float *, int32_t, float *);           \
    void lk_accumulate_##suffix(const float *, float, size_t, float *);                                                \
    void lk_write_pixels_##suffix(const float *, int32_t, const lk_pixel_layout *, float *);                           \
    void lk_sample_##suffix(const float *, int32_t, int32_t, const lk_projection *, int32_t, int32_t, float *);        \
    void lk_luma_row_##suffix(const uint8_t *, int32_t, const float *, int32_t, float *);                              \
    void lk_filter_row_##suffix(const float *, const lk_filter_span *, const float *, int32_t, float *);               \
    void lk_gaussian_blur_##suffix(const lk_plane *, const float *, int32_t, float *, float *, float *);               \
    size_t lk_scale_space_extrema_##suffix(const float *const[3], ptrdiff_t, int32_t, int32_t, int32_t, float,         \
                                           lk_pixel *, size_t);                                                        \
    void lk_orientation_histogram_##suffix(const lk_patch *, const float *, float *);                                  \
    void lk_gradient_descriptor_##suffix(const lk_patch *, const float *, float *);                                    \
    lk_quantization lk_quantize_components_##suffix(const float *, size_t, int8_t *);                                  \
    void lk_offer_centers_##suffix(const int32_t *, int32_t, float, const float *, size_t, int32_t,                    \
                                   lk_nearest_centers *);                                                              \
    void lk_best_two_##suffix(const int32_t *, int32_t, const float *, size_t, lk_best_two *);                         \
    size_t lk_hamming_within_##suffix(uint64_t, const uint64_t *, size_t, uint32_t, lk_hamming *);

#define LK_DECLARE_QUANTIZED_CONVOLUTION(suffix)                                                                       \
    void lk_convolve_quantized_##suffix(const lk_quantized_convolution *, int32_t, int32_t, int32_t, int32_t);

#define LK_DECLARE_QUANTIZED(suffix)                                                                                   \
    LK_DECLARE_QUANTIZED_CONVOLUTION(suffix)                                                                           \
    void lk_quantized_dot_products_##suffix(const int8_t *, const uint8_t *, ptrdiff_t, size_t, size_t, int32_t *);    \
    void lk_pack_quantized_rows_##suffix(const uint8_t *, ptrdiff_t, size_t, size_t, uint8_t *);                       \
    void lk_quantized_products_##suffix(const int8_t *, size_t, const uint8_t *, size_t, size_t, int32_t *);           \
    size_t lk_select_candidates_##suffix(const lk_distance_bound *, const int32_t *, const float *, const float *,     \
                                         const float *, size_t, float, uint32_t *);

// Some targets have their own float32 kernels, some their own int8 kernels, one an int8 convolution alone.
#define LK_TABLE(target_value, target_name, floats, quantized, convolution, fast_dot_product, fast_scan)               \
    {                                                                                                                  \
        target_value, #target_name, fast_dot_product, fast_scan, lk_convolve_##floats, lk_winograd_input_##floats,     \
            lk_winograd_output_##floats, lk_convolve_quantized_##convolution, lk_convolve_depthwise_##floats,          \
            lk_pool_##floats, lk_activate_##floats, lk_combine_##floats, lk_quantize_##floats, lk_dequantize_##floats, \
            lk_generalized_mean_##floats, lk_quantized_dot_products_##quantized, lk_pack_quantized_rows_##quantized,   \
            lk_quantized_products_##quantized, lk_select_candidates_##quantized, lk_squared_distances_##floats,        \
            lk_dot_products_##floats, lk_sum_rows_##floats, lk_sum_columns_##floats, lk_sum_cells_##floats,            \
            lk_filter_columns_##floats, lk_accumulate_##floats, lk_write_pixels_##floats, lk_sample_##floats,          \
            lk_luma_row_##floats, lk_filter_row_##floats, lk_gaussian_blur_##floats, lk_scale_space_extrema_##floats,  \
            lk_orientation_histogram_##floats, lk_gradient_descriptor_##floats, lk_quantize_components_##floats,       \
            lk_offer_centers_##floats, lk_best_two_##floats, lk_hamming_within_##floats                                \
    }

LK_DECLARE_FLOAT(portable)
LK_DECLARE_QUANTIZED(portable)
#if defined(__x86_64__)
LK_DECLARE_FLOAT(avx2)
LK_DECLARE_QUANTIZED(avx2)
LK_DECLARE_QUANTIZED(avxvnni)
LK_DECLARE_FLOAT(avx512)
LK_DECLARE_QUANTIZED(avx512vnni)
LK_DECLARE_QUANTIZED_CONVOLUTION(amx)
#elif defined(__aarch64__)
LK_DECLARE_FLOAT(neon)
LK_DECLARE_QUANTIZED(neon)
LK_DECLARE_QUANTIZED(neondotprod)
#endif

#endif
