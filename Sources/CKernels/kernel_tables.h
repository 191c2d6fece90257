// The tables of the SIMD targets, and the kernels in them.
//
// A target is a file in the folder targets. It includes the kernels' headers, where KERNEL(name) becomes
// lk_name_TARGET, and fills its table with them and with kernels that other targets compile.

#ifndef LOOKALIKE_KERNEL_TABLES_H
#define LOOKALIKE_KERNEL_TABLES_H

// Here, since their functions must not get the instructions that a target's file allows.
#include <math.h>
#include <string.h>
#if defined(__x86_64__)
#include <immintrin.h>
#elif defined(__aarch64__)
#include <arm_neon.h>
#endif

#include "CKernels.h"

// The functions in lk_kernels, in groups that a target compiles as a whole.
// clang-format off
#define LK_FLOAT_KERNELS(K, target)                                                                                    \
    K(convolve, target) K(winograd_input, target) K(winograd_output, target) K(convolve_depthwise, target)             \
    K(pool, target) K(activate, target) K(combine, target) K(quantize, target) K(dequantize, target)                   \
    K(generalized_mean, target) K(squared_distances, target) K(squared_distances_of_halves, target)                    \
    K(widen_halves, target) K(dot_products, target) K(write_distances, target) K(sum_rows, target)                     \
    K(sum_columns, target) K(sum_cells, target) K(halve_rows, target) K(filter_columns, target) K(accumulate, target) K(write_pixels, target) K(sample, target)    \
    K(luma_row, target) K(filter_row, target) K(gaussian_blur, target) K(scale_space_extrema, target)                  \
    K(orientation_histogram, target) K(gradient_descriptor, target) K(largest_magnitude, target)                       \
    K(quantize_components, target) K(offer_centers, target) K(best_two, target) K(signatures, target)                  \
    K(restore_descriptor, target) K(hamming_within, target) K(select_binary_codes, target) K(softmax, target)          \
    K(normalize_line, target) K(quantize_line, target) K(finish_lines, target) K(pack_lines, target)     \
    K(softmax_codes, target) K(pack_quantized_lines, target) K(pack_quantized_columns, target)
#define LK_QUANTIZED_CONVOLUTION(K, target) K(convolve_quantized, target)
#define LK_QUANTIZED_DISTANCES(K, target)                                                                              \
    K(quantized_dot_products, target) K(pack_quantized_rows, target) K(quantized_products, target)                     \
    K(select_candidates, target)

// The entries of a table, each argument the target that compiles the group.
#define LK_ENTRY(kernel, target) .kernel = lk_##kernel##_##target,
#define LK_ENTRIES(floats, convolution, distances)                                                                     \
    LK_FLOAT_KERNELS(LK_ENTRY, floats)                                                                                 \
    LK_QUANTIZED_CONVOLUTION(LK_ENTRY, convolution)                                                                    \
    LK_QUANTIZED_DISTANCES(LK_ENTRY, distances)
// clang-format on

#define LK_COUNT(kernel, target) +1
enum {
    LK_KERNEL_COUNT =
        0 LK_FLOAT_KERNELS(LK_COUNT, ) LK_QUANTIZED_CONVOLUTION(LK_COUNT, ) LK_QUANTIZED_DISTANCES(LK_COUNT, )
};
_Static_assert(sizeof(lk_kernels) == offsetof(lk_kernels, convolve) + LK_KERNEL_COUNT * sizeof(void (*)(void)),
               "every function in lk_kernels is in a group");

#define LK_DECLARE(kernel, target) __typeof__(*((lk_kernels *)0)->kernel) lk_##kernel##_##target;
LK_FLOAT_KERNELS(LK_DECLARE, portable)
LK_QUANTIZED_CONVOLUTION(LK_DECLARE, portable)
LK_QUANTIZED_DISTANCES(LK_DECLARE, portable)
extern const lk_kernels lk_kernels_portable;
#if defined(__x86_64__)
LK_FLOAT_KERNELS(LK_DECLARE, avx2)
LK_QUANTIZED_CONVOLUTION(LK_DECLARE, avx2)
LK_QUANTIZED_DISTANCES(LK_DECLARE, avx2)
LK_QUANTIZED_CONVOLUTION(LK_DECLARE, avxvnni)
LK_QUANTIZED_DISTANCES(LK_DECLARE, avxvnni)
LK_FLOAT_KERNELS(LK_DECLARE, avx512)
LK_QUANTIZED_CONVOLUTION(LK_DECLARE, avx512vnni)
LK_QUANTIZED_DISTANCES(LK_DECLARE, avx512vnni)
LK_QUANTIZED_CONVOLUTION(LK_DECLARE, amx)
extern const lk_kernels lk_kernels_avx2_slow_int8, lk_kernels_avx2, lk_kernels_avxvnni, lk_kernels_avx512,
    lk_kernels_avx512vnni, lk_kernels_amx;
#elif defined(__aarch64__)
LK_FLOAT_KERNELS(LK_DECLARE, neon)
LK_QUANTIZED_CONVOLUTION(LK_DECLARE, neon)
LK_QUANTIZED_DISTANCES(LK_DECLARE, neon)
LK_QUANTIZED_CONVOLUTION(LK_DECLARE, neondotprod)
LK_QUANTIZED_DISTANCES(LK_DECLARE, neondotprod)
extern const lk_kernels lk_kernels_neon, lk_kernels_neondotprod;
#endif

#endif
