// SIMD kernels: one table of functions per SIMD target.
//
// Every target computes the same functions; `portable` is the reference that the others are tested
// against. Distances, dot products and all int8 results are bit-identical across SIMD targets
// (same lanes, same order, fused multiply-adds); convolutions, pooling and resizing agree within
// rounding.

#ifndef LOOKALIKE_CKERNELS_H
#define LOOKALIKE_CKERNELS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// Channels are stored in blocks of this many floats: [block][row][column][LK_CHANNEL_BLOCK].
enum { LK_CHANNEL_BLOCK = 16 };

// The most taps of a kernel, 16 x 16.
enum { LK_MOST_TAPS = 256 };

// A dense convolution over channel blocks, bias, residual and ReLU fused.
//
// Strides and steps are in floats. `input` points at the tap (0, 0) of the output pixel (0, 0), so padding is
// the caller's: it lies in the buffer around the image. A step leads from the taps of an output to those of the next,
// so it contains the convolution's stride; a tap stride contains its dilation. `weights` are
// [output block][input channel / block][kernel row][kernel column][input channel in block][16].
//
// A matrix product is a convolution with one tap, whose pixels are the rows of its left side.
typedef struct {
    const float *input;
    ptrdiff_t input_block_stride;
    ptrdiff_t row_step;
    ptrdiff_t pixel_step;
    ptrdiff_t tap_row_stride;
    ptrdiff_t tap_stride;
    int32_t input_channels;
    const float *weights;
    const float *bias;
    const float *residual;  // as `output`; NULL for none
    float *output;
    ptrdiff_t output_block_stride;
    ptrdiff_t output_row_stride;
    ptrdiff_t output_pixel_stride;
    int32_t output_width;
    int32_t kernel_height;
    int32_t kernel_width;
    bool relu;
    // If not NULL, written instead of `output`: unsigned int8, each the result times `quantized_scale`,
    // rounded to nearest, even on a tie, and clamped to 0...255.
    uint8_t *quantized_output;
    float quantized_scale;
} lk_convolution;

// Where an F(4x4, 3x3) Winograd convolution is in its output: `height` rows and `width` columns are
// left from the first of `tile_rows` x `tile_columns` tiles of 4 x 4 on.
typedef struct {
    int32_t width;
    int32_t height;
    int32_t tile_rows;
    int32_t tile_columns;
} lk_winograd;

// A dense int8 convolution, unsigned input times signed weights: `sum * scales + bias`, plus the residual
// times `residual_scale`, in float32; then ReLU.
//
// Geometry as in lk_convolution, strides in elements, 16 bytes per pixel of a block. `weights` are
// [output block][input block][kernel row][kernel column][4 quads of inputs][16 outputs][4 inputs]. Codes of inputs 2 i
// and 2 i + 1 with the same sign have a sum of at most 128 in magnitude.
typedef struct {
    const uint8_t *input;
    ptrdiff_t input_block_stride;
    ptrdiff_t row_step;
    ptrdiff_t pixel_step;
    ptrdiff_t tap_row_stride;
    ptrdiff_t tap_stride;
    int32_t input_blocks;
    // Whether the upper eight inputs of the last block have weights of 0, so that a kernel may leave them out.
    bool last_block_is_half;
    const int8_t *weights;
    const float *scales;
    const float *bias;
    // One of the two, as the output, or neither.
    const uint8_t *quantized_residual;
    const float *residual;
    float residual_scale;
    // One of the two; int8 output is rounded to nearest, even on a tie, and clamped to 0...255.
    uint8_t *quantized_output;
    float *output;
    ptrdiff_t output_block_stride;
    ptrdiff_t output_row_stride;
    int32_t output_width;
    int32_t kernel_height;
    int32_t kernel_width;
    bool relu;
} lk_quantized_convolution;

// A depthwise convolution: every channel has a filter of its own. Geometry as in lk_convolution; `weights` are
// [block][kernel row][kernel column][16].
typedef struct {
    const float *input;
    ptrdiff_t input_block_stride;
    ptrdiff_t row_step;
    ptrdiff_t pixel_step;
    ptrdiff_t tap_row_stride;
    ptrdiff_t tap_stride;
    const float *weights;
    const float *bias;
    float *output;
    ptrdiff_t output_block_stride;
    ptrdiff_t output_row_stride;
    int32_t output_width;
    int32_t kernel_height;
    int32_t kernel_width;
    bool relu;
} lk_depthwise_convolution;

// Pooling of a block's channels over windows. `input` points at the pixel (0, 0) of the map; what a window covers
// outside the map is left out.
typedef struct {
    const float *input;
    ptrdiff_t input_row_stride;
    int32_t input_width;
    int32_t input_height;
    int32_t kernel_width;
    int32_t kernel_height;
    int32_t stride_x;
    int32_t stride_y;
    int32_t dilation_x;
    int32_t dilation_y;
    int32_t padding_left;
    int32_t padding_top;
    // The mean counts the padding as zeros, up to these many columns and rows after the map.
    bool padding_counts;
    int32_t padding_right;
    int32_t padding_bottom;
    // The mean instead of the largest.
    bool mean;
    float *output;
    ptrdiff_t output_row_stride;
    int32_t output_width;
    // Used by `lk_pool_quantized` in place of `input`, and in place of `output` for the largest.
    const uint8_t *quantized_input;
    uint8_t *quantized_output;
    // For the mean of codes: a code stands for scale * (code - zero_point).
    float scale;
    uint8_t zero_point;
} lk_pooling;

// Functions of one number; `alpha` and `beta` are their parameters.
typedef enum {
    LK_CLAMP,         // min(max(x, alpha), beta)
    LK_LEAKY_RELU,    // x below zero times alpha
    LK_ELU,           // alpha (e^x - 1) below zero
    LK_SIGMOID,       // 1 / (1 + e^-x)
    LK_HARD_SIGMOID,  // alpha x + beta, clamped to 0...1
    LK_HARD_SWISH,    // x times x / 6 + 1 / 2, clamped to 0...1
    LK_SILU,          // x sigmoid(x)
    LK_GELU,          // x / 2 (1 + erf(x / sqrt 2))
    LK_GELU_TANH,     // x / 2 (1 + tanh(sqrt(2 / pi) (x + 0.044715 x^3)))
    LK_MISH,          // x tanh(log(1 + e^x))
    LK_SOFTPLUS,      // log(1 + e^x)
    LK_TANH,
    LK_ERF,
    LK_EXP,
    LK_LOG,
    LK_SQRT,
    LK_ABS,
    LK_NEGATE,
    LK_QUANTIZE,  // alpha times x / alpha as an integer, clamped to beta...beta + 255
    LK_RECIPROCAL,
} lk_activation_kind;

typedef struct {
    lk_activation_kind kind;
    float alpha;
    float beta;
} lk_activation;

// What becomes of the products of a linear layer: output = activation(products * unit + bias) + residual.
typedef struct {
    // [block][line][16], blocks `block_stride` floats apart.
    const float *products;
    ptrdiff_t block_stride;
    // Outputs of a line.
    size_t count;
    // One per line; NULL for 1.
    const float *units;
    // One per output, whole blocks; NULL for none.
    const float *bias;
    // NULL for none.
    const lk_activation *activation;
    // As `output`; NULL for none.
    const float *residual;
    float *output;
    ptrdiff_t output_stride;
} lk_line_results;

typedef enum {
    LK_ADD,
    LK_SUBTRACT,
    LK_MULTIPLY,
    LK_DIVIDE,
    LK_MAXIMUM,
    LK_MINIMUM,
    LK_POWER,
    LK_PRELU,  // the left side; below zero, times the right side
} lk_combination;

// How an operand's values are repeated: one per result, the same sixteen, or a single one.
typedef enum { LK_EACH, LK_SAME_BLOCK, LK_SAME_VALUE } lk_operand_mode;

typedef struct {
    const float *values;
    lk_operand_mode mode;
} lk_operand;

// One output pixel of a separable filter: `count` weights, starting at source cell `first`.
typedef struct {
    int32_t first;
    int32_t count;
    int32_t offset;  // of its first weight in the weight array
} lk_filter_span;

// How an image's pixels of four floats, 0...255, become a network's input of three floats per pixel.
typedef enum { LK_ORDER_RGB, LK_ORDER_BGR, LK_ORDER_GRAY } lk_channel_order;

typedef struct {
    lk_channel_order order;
    // Alpha is the fourth float; the pixel is composited over white.
    bool premultiplied;
    float multiply[4];
    float add[4];
    int32_t pixel_stride;
} lk_pixel_layout;

// The position in the source of pixel (x, y) of the result, in pixels from the center of the first:
// ((m0 x + m1 y + m2) / w, (m3 x + m4 y + m5) / w) with w = m6 x + m7 y + m8.
typedef struct {
    float m[9];
} lk_projection;

// Lower bound on the squared distance, from an int8 dot product:
// base + norm_weight * squared norm - dot_weight * scale * (dot - dot_offset) - residual_weight * residual norm,
// with the row's scale, squared norm and residual norm.
typedef struct {
    float base;
    float norm_weight;
    float dot_weight;
    int32_t dot_offset;
    float residual_weight;
} lk_distance_bound;

enum {
    // 1-bit codes in a block.
    LK_BINARY_BLOCK = 32,
    // After the codes of a block: two factors and the error of each code's lower bound, float32, and its row, 32 bits.
    LK_BINARY_FACTOR_BYTES = 4 * LK_BINARY_BLOCK * 4,
    // The columns of a block are a multiple of this.
    LK_BINARY_COLUMNS = 4
};

// A query of 1-bit codes. The lower bound of a code on the squared distance, from the sum s of its columns' entries:
// base + factors[0] + factors[1] * (step * s + offset) - error_weight * factors[2].
typedef struct {
    // [column][16 patterns of four signs]
    const uint8_t *tables;
    size_t columns;
    float step;
    float offset;
    float base;
    float error_weight;
} lk_binary_query;

// The largest radius of a Gaussian kernel, in pixels.
enum { LK_LARGEST_BLUR_RADIUS = 32 };

// A grayscale image. `stride` counts floats and is a multiple of 16; at least 16 floats follow the last pixel.
typedef struct {
    const float *pixels;
    ptrdiff_t stride;
    int32_t width;
    int32_t height;
} lk_plane;

typedef struct {
    int32_t x;
    int32_t y;
} lk_pixel;

// Samples per side of the square patch that describes a keypoint, bins of its orientation histogram (10 degrees each),
// and floats of its descriptor (4 x 4 cells of 8 directions).
enum { LK_PATCH_SIDE = 16, LK_ORIENTATION_BINS = 36, LK_DESCRIPTOR_LENGTH = 128 };

// A square patch around (x, y), its samples `spacing` pixels apart, turned by the angle with this cosine and sine.
typedef struct {
    lk_plane plane;
    float x;
    float y;
    float spacing;
    float cosine;
    float sine;
} lk_patch;

// The largest and the second largest of some values, and the row of the largest.
typedef struct {
    float best;
    float second;
    int32_t row;
} lk_best_two;

// A signature's place in its list, and its Hamming distance.
typedef struct {
    uint32_t index;
    uint32_t distance;
} lk_hamming;

// A list of numbers below 2^32 that ascend, coded as P. Elias did ("Efficient Storage and Retrieval by Content and
// Address of Static Files", J. ACM 1974). The low bits of the k-th are in `lows` from the bit (first + k) * low_bits
// on; if its other bits are h, the bit start + h + k of `highs` is set. One more word than the low bits fill can be
// read.
typedef struct {
    const uint64_t *lows, *highs;
    size_t high_words, first, start;
    uint32_t low_bits;
} lk_coded_list;

// The numbers at the places `found[i].index`, which ascend; UINT32_MAX where the bits make no number below 2^32.
void lk_read_coded(const lk_coded_list *list, const lk_hamming *found, size_t count, uint32_t *numbers);

// The step of int8 components, and the sum of their codes.
typedef struct {
    float unit;
    int32_t sum;
} lk_quantization;

// A vector whose components are all smaller is treated as if the largest were this.
#define LK_SMALLEST_COMPONENT 1e-20f

enum { LK_MOST_NEAREST_CENTERS = 8 };

// The `count` best of the centers seen so far, best first: at most `capacity`, 1...LK_MOST_NEAREST_CENTERS.
typedef struct {
    int32_t count;
    int32_t capacity;
    float scores[LK_MOST_NEAREST_CENTERS];
    int32_t indices[LK_MOST_NEAREST_CENTERS];
} lk_nearest_centers;

typedef struct {
    const char *name;
    // Whether an int8 dot product is faster than a float32 one: for networks, and for batches of queries.
    bool has_fast_int8_dot_product;
    // Whether one query, whose time is that of reading the rows, is faster if int8 rows reject most float32 ones.
    bool has_fast_int8_scan;

    // Computes rows [row_begin, row_end) of output blocks [block_begin, block_end).
    void (*convolve)(const lk_convolution *convolution, int32_t block_begin, int32_t block_end, int32_t row_begin,
                     int32_t row_end);

    // The transformed input tiles: `transformed` is [36][block][tile][16], 36 inputs of 1x1 convolutions over
    // the tiles. `input` points at the tap (0, 0) of the first output.
    void (*winograd_input)(const lk_winograd *winograd, const float *input, ptrdiff_t block_stride,
                           ptrdiff_t row_stride, int32_t blocks, float *transformed);

    // The outputs of the 36 convolutions, laid out like `transformed`, back to pixels; `bias`,
    // `residual` and `output` start at the first block and the first output.
    void (*winograd_output)(const lk_winograd *winograd, const float *products, int32_t blocks, const float *bias,
                            const float *residual, float *output, ptrdiff_t block_stride, ptrdiff_t row_stride,
                            bool relu);

    // Computes rows [row_begin, row_end) of output blocks [block_begin, block_end).
    void (*convolve_quantized)(const lk_quantized_convolution *convolution, int32_t block_begin, int32_t block_end,
                               int32_t row_begin, int32_t row_end);

    // Computes rows [row_begin, row_end) of blocks [block_begin, block_end).
    void (*convolve_depthwise)(const lk_depthwise_convolution *convolution, int32_t block_begin, int32_t block_end,
                               int32_t row_begin, int32_t row_end);

    // Computes rows [row_begin, row_end) of the block.
    void (*pool)(const lk_pooling *pooling, int32_t row_begin, int32_t row_end);

    // out[i] = the function of values[i]; both may be the same.
    void (*activate)(const lk_activation *activation, const float *values, size_t count, float *out);

    // out[i] = the operation on left and right; the result may be an operand that has a value per result.
    void (*combine)(lk_combination operation, lk_operand left, lk_operand right, size_t count, float *out);

    // codes[i] = values[i] * scale + zero_point, rounded to nearest, even on a tie, and clamped to 0...255.
    void (*quantize)(const float *values, float scale, uint8_t zero_point, size_t count, uint8_t *codes);

    // values[i] = (codes[i] - zero_point) * scale
    void (*dequantize)(const uint8_t *codes, float scale, uint8_t zero_point, size_t count, float *values);

    // The generalized mean of each of a block's 16 channels over `height` rows of `width` pixels:
    // out[c] = (mean of max(x[c], epsilon)^power)^(1 / power).
    void (*generalized_mean)(const float *pixels, ptrdiff_t row_stride, int32_t width, int32_t height, float power,
                             float epsilon, float *out);

    // The same for rows of half-precision numbers.
    void (*squared_distances_of_halves)(const float *query, const uint16_t *rows, ptrdiff_t row_stride, size_t count,
                                        size_t dimension, float *out);

    // Converts half-precision numbers (IEEE 754 binary16); exact.
    void (*widen_halves)(const uint16_t *halves, size_t count, float *out);

    // out[i] = sum over j of query[j] * rows[i * row_stride + j]; exact for up to 65,536 components.
    void (*quantized_dot_products)(const int8_t *query, const uint8_t *rows, ptrdiff_t row_stride, size_t count,
                                   size_t dimension, int32_t *out);

    // `count` rows as [group of 16][quad][16][4 components], padded with zeros.
    void (*pack_quantized_rows)(const uint8_t *rows, ptrdiff_t row_stride, size_t count, size_t dimension,
                                uint8_t *packed);

    // out[q * groups * 16 + i]: the dot product of query q and row i of packed rows. A query has
    // `quads` * 4 components, padded with zeros; faster without VNNI if no two neighbors of a query, components 2 i and
    // 2 i + 1, have a sum above 128 in magnitude.
    void (*quantized_products)(const int8_t *queries, size_t query_count, const uint8_t *packed, size_t groups,
                               size_t quads, int32_t *out);

    // Writes the ascending indices of the rows whose lower bound is not above `limit`; returns their number.
    size_t (*select_candidates)(const lk_distance_bound *bound, const int32_t *dots, const float *scales,
                                const float *squared_norms, const float *residual_norms, size_t count, float limit,
                                uint32_t *found);

    // out[i] = sum over j of (query[j] - rows[i * row_stride + j])^2
    void (*squared_distances)(const float *query, const float *rows, ptrdiff_t row_stride, size_t count,
                              size_t dimension, float *out);

    // out[i] = sum over j of query[j] * rows[i * row_stride + j]
    void (*dot_products)(const float *query, const float *rows, ptrdiff_t row_stride, size_t count, size_t dimension,
                         float *out);

    // out[j] = sum over i < rows of source[i * stride + j], rows <= 257
    void (*sum_rows)(const uint8_t *source, ptrdiff_t stride, int32_t rows, size_t bytes, uint16_t *out);

    // Cells of four floats, the source's channels first, each the sum of `factor` neighboring
    // pixels of `line`; the last cell may have fewer. `fits`: no sum is above 65,535.
    void (*sum_columns)(const uint16_t *line, int32_t channels, int32_t width, int32_t factor, bool fits, float *cells);

    // Both at once, for pixels of four channels: `factor` a multiple of 4, `rows` at most 64.
    void (*sum_cells)(const uint8_t *source, ptrdiff_t stride, int32_t rows, int32_t width, int32_t factor,
                      float *cells);

    // `width` pixels of four bytes, each the mean of two by two pixels of three or four channels; ties go to the even
    // number. The fourth byte of three channels is 0.
    void (*halve_rows)(const uint8_t *source, ptrdiff_t stride, int32_t channels, int32_t width, uint8_t *out);

    // out[x] = sum of weights * cells, four floats per pixel.
    void (*filter_columns)(const float *cells, const lk_filter_span *spans, const float *weights, int32_t width,
                           float *out);

    // out[i] += weight * line[i]
    void (*accumulate)(const float *line, float weight, size_t count, float *out);

    // Three floats per pixel, `layout->pixel_stride` apart.
    void (*write_pixels)(const float *pixels, int32_t width, const lk_pixel_layout *layout, float *out);

    // A row of `count` pixels of four floats, sampled bilinearly; outside the source its edge is repeated.
    void (*sample)(const float *pixels, int32_t width, int32_t height, const lk_projection *projection, int32_t row,
                   int32_t count, float *out);

    // out[x] = sum over channels c of weights[c] * source[x * channels + c], for 1, 3 or 4 channels.
    void (*luma_row)(const uint8_t *source, int32_t channels, const float *weights, int32_t width, float *out);

    // out[x] = sum of weights * cells, one float per pixel.
    void (*filter_row)(const float *cells, const lk_filter_span *spans, const float *weights, int32_t width,
                       float *out);

    // Rows `first` to `end` of a separable Gaussian blur with replicated edges: taps[0] at the center, taps[k] at
    // k * spacing pixels from it on both sides, up to taps[radius], at most LK_LARGEST_BLUR_RADIUS pixels away. `out`
    // has the source's stride. `line` holds stride + 2 * LK_LARGEST_BLUR_RADIUS floats.
    void (*gaussian_blur)(const lk_plane *source, const float *taps, int32_t radius, int32_t spacing, int32_t first,
                          int32_t end, float *line, float *out);

    // Pixels of the three differences gaussians[i + 1] - gaussians[i]: those of the one in the middle in the rows
    // `first` to `end`, row by row, at least `border` pixels from the left and the right edge, that are above
    // `threshold` and not below any of their 26 neighbors in the three, or the same with the sign changed. Finds at
    // most `capacity`.
    size_t (*scale_space_extrema)(const float *const gaussians[4], ptrdiff_t stride, int32_t width, int32_t first,
                                  int32_t end, int32_t border, float threshold, lk_pixel *found, size_t capacity);

    // LK_ORIENTATION_BINS sums of gradient lengths, times `window` ([16][16]), by the gradients' angles.
    void (*orientation_histogram)(const lk_patch *patch, const float *window, float *histogram);

    // LK_DESCRIPTOR_LENGTH sums of gradient lengths, times `window`: [row of cells][column of cells][direction].
    void (*gradient_descriptor)(const lk_patch *patch, const float *window, float *descriptor);

    // Makes squared distances, or their roots, of the products -2 q·x of up to sixteen queries with `count` rows: adds
    // the squared norms of both. `products` has sixteen numbers for a row, `step` floats from the next row's; the
    // distances of a query are a line, `out_stride` floats from the next query's. Sets a bit for each query of which a
    // squared distance is below `share` of the sum of both norms.
    uint16_t (*write_distances)(const float *products, size_t step, size_t count, const float *row_norms,
                                const float *query_norms, size_t queries, float share, bool is_rooted, float *out,
                                ptrdiff_t out_stride);

    // The largest absolute value, or LK_SMALLEST_COMPONENT if that is larger; `count` is a multiple of 16.
    float (*largest_magnitude)(const float *values, size_t count);

    // codes[i] = values[i] / unit, rounded to nearest, even on a tie, with the unit at which the largest is 127 or
    // -127; `count` is a multiple of 16.
    lk_quantization (*quantize_components)(const float *values, size_t count, int8_t *codes);

    // Offers the centers first...first + count - 1, with the scores
    // (dots[i] - offset) * scale - half_squared_norms[i]; `count` is a multiple of 16.
    void (*offer_centers)(const int32_t *dots, int32_t offset, float scale, const float *half_squared_norms,
                          size_t count, int32_t first, lk_nearest_centers *nearest);

    // The two largest of (dots[i] - offset) * scales[i]; `count` is a positive multiple of 16.
    void (*best_two)(const int32_t *dots, int32_t offset, const float *scales, size_t count, lk_best_two *out);

    // A signature for each of some words: the bit b is set if limits[b] > centers[word * 64 + b]; there are 64 limits.
    void (*signatures)(const uint8_t *limits, const uint8_t *centers, const uint16_t *words, size_t count,
                       uint64_t *signatures);

    // row[i] = center[i] + offset or center[i] - offset, in 0...255, for 64 components: the bits of `above` say which
    // of them, and those of `far` whether the offset is far_offsets[i] or near_offsets[i]. Returns the sum of
    // (row[i] - zero)^2.
    uint32_t (*restore_descriptor)(const uint8_t *center, uint64_t above, uint64_t far, const uint8_t *near_offsets,
                                   const uint8_t *far_offsets, uint8_t zero, uint8_t *row);

    // The signatures within a Hamming distance of `limit`, in order; returns how many. `found` has `count` places.
    size_t (*hamming_within)(uint32_t signature, const uint32_t *signatures, size_t count, uint32_t limit,
                             lk_hamming *found);

    // The ascending indices of the first `count` 1-bit codes of some blocks whose lower bound is not above `limit`, and
    // these bounds; returns how many. A block is [column][16 bytes], then 32 of each factor, then 32 rows. The entries
    // of a code's columns add up to at most 65,535.
    size_t (*select_binary_codes)(const lk_binary_query *query, const uint8_t *blocks, size_t count, float limit,
                                  uint32_t *found, float *lower_bounds);

    // x = values * scale + summands, in place as e^x divided by the sum of all e^x; `summands` may be NULL.
    void (*softmax)(float *values, size_t count, float scale, const float *summands);

    // The values with the mean 0 and the variance 1, times weights, plus bias; `out` may be `values`.
    void (*normalize_line)(const float *values, size_t count, float epsilon, const float *weights, const float *bias,
                           float *out);

    // Codes values / unit + 128 with the unit at which the largest magnitude is 127, which is returned. `count` is a
    // multiple of 16; blocks of sixteen codes are `block_stride` apart.
    float (*quantize_line)(const float *values, size_t count, ptrdiff_t block_stride, uint8_t *codes);

    // Writes the results of so many lines.
    void (*finish_lines)(const lk_line_results *results, size_t lines);

    // Lines as the columns of a matrix for `convolve`: [block of 16 lines][element][16 lines], filled up with zeros.
    void (*pack_lines)(const float *lines, ptrdiff_t stride, size_t count, size_t length, float *packed);

    // x = scores * scale + summands, as codes of 255 * e^(x - largest x), rounded; returns 1 / the sum of the codes.
    // Blocks of sixteen scores, and of codes, are `block_stride` apart; beyond `count` codes of a last block are 0.
    // `summands` may be NULL.
    float (*softmax_codes)(const float *scores, ptrdiff_t block_stride, size_t count, float scale,
                           const float *summands, uint8_t *codes);

    // Lines as weights of `convolve_quantized`, an output each, filled up with zeros to whole blocks: what it needs
    // for their products with codes of which 128 stands for 0. `length` is a multiple of 16.
    void (*pack_quantized_lines)(const float *lines, ptrdiff_t stride, size_t count, size_t length, int8_t *packed,
                                 float *scales, float *bias);

    // The same for columns of `count` rows, each an output, and for codes of which 0 stands for 0.
    void (*pack_quantized_columns)(const float *rows, ptrdiff_t stride, size_t count, size_t columns, int8_t *packed,
                                   float *scales);
} lk_kernels;

// Asks for memory before it is read, a cache line at a time.
static inline void lk_prefetch(const void *address, size_t bytes) {
    for (size_t i = 0; i < bytes; i += 64) __builtin_prefetch((const char *)address + i);
}

// The best SIMD target that this CPU has, or the one named by the environment variable LOOKALIKE_SIMD if the CPU has
// that. Chosen once. Unless it is named, amx has to give the same codes as avx512vnni in a trial of a few
// milliseconds, in less time.
const lk_kernels *lk_kernels_selected(void);

// The tables of the SIMD targets that this CPU has, the portable reference first, then from worse to better; NULL from
// their number on.
const lk_kernels *lk_kernels_at(int32_t index);

// Whether the int8 convolutions of two tables give the same codes on three layers. `relative_time` is the candidate's
// time divided by the other's. False, too, if there is no memory for the layers.
bool lk_try_quantized_convolution(const lk_kernels *candidate, const lk_kernels *trusted, double *relative_time);

// Pooling of uint8 codes, one block of 16 channels: the largest as codes, the mean in float32.
void lk_pool_quantized(const lk_pooling *pooling, int32_t row_begin, int32_t row_end);

// The formats of numbers in files, little-endian.
typedef enum { LK_FLOAT32, LK_FLOAT16, LK_BFLOAT16, LK_UINT8 } lk_number_format;

// The size of a number in bytes.
size_t lk_number_size(lk_number_format format);

// Converts numbers, which need not be aligned, to float32; exact.
void lk_widen(const void *numbers, lk_number_format format, size_t count, float *out);

// Rounds floats to half precision (IEEE 754 binary16): to nearest, even on a tie. From 65,520 on they become infinite;
// NaN stays NaN.
void lk_narrow(const float *numbers, size_t count, uint16_t *halves);

// Whether all numbers are finite.
bool lk_are_finite(const void *numbers, lk_number_format format, size_t count);

// Packs the weights [output][input][tap] of one block of up to 16 outputs as
// [block of inputs][tap][input in block][16 outputs]; outputs that pad the block are 0.
void lk_pack_weights(const void *weights, lk_number_format format, size_t outputs, size_t inputs, size_t taps,
                     float *packed);

// Transforms the weights [output][input][3][3] of one block of up to 16 outputs for F(4x4, 3x3): G g G' of every filter
// g, in double precision. `packed` has 36 components, `component_stride` floats apart, each [input][16 outputs].
void lk_pack_winograd_weights(const void *weights, lk_number_format format, size_t outputs, size_t inputs,
                              size_t component_stride, float *packed);

// Quantizes the weights [output][input][tap] of one block of up to 16 outputs to int8. `packed` is
// [input block][tap][4 quads of inputs][16 outputs][4 inputs]; outputs and inputs that pad a block are 0. `steps` gets
// each output's scale: its largest magnitude / 127, of weights and of sums of two of them, the inputs 2 i and 2 i + 1
// of a tap, so that 255 times two codes of one sign fit 16 bits. Where that is 0 or subnormal, the scale is 1 and the
// codes are 0. `sums` gets the sum of each output's codes. Both have room for 16. At most LK_MOST_TAPS taps.
void lk_pack_quantized_weights(const void *weights, lk_number_format format, size_t outputs, size_t inputs, size_t taps,
                               float *steps, int64_t *sums, int8_t *packed);

// The rows that are near any of sixteen queries: `products` has sixteen numbers every `step` numbers, for a row each,
// and a row counts if one of them plus the row's squared norm is at most the query's limit, or not a number. Returns
// how many were found.
size_t lk_select_rows(const float *products, size_t step, const float *squared_norms, size_t count, const float *limits,
                      uint32_t *found);

// The sum of the squares of `count` numbers, in double precision.
double lk_squared_norm(const float *row, size_t count);

// The number of linear values, from black to white, whose encoding `lk_convert_colors` looks up.
enum { LK_ENCODED_COUNT = 8192 };

// Converts the colors of 8-bit pixels in place. `shares` has four floats for each of 256 bytes of red, then of green
// and of blue: what the byte adds to linear red, green and blue of the result, times LK_ENCODED_COUNT - 1, and zero.
// Half a step is added to those of red, since the sum is rounded down. `channels` is 3, or 4 with a fourth byte that
// stays.
void lk_convert_colors(const float *shares, const uint8_t *encoded, size_t count, size_t channels, uint8_t *pixels);

// The processors that this process may run on; 0 if unknown.
int lk_available_processors(void);

#endif
