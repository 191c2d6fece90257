// Compares the kernels of every SIMD target that the CPU has with the portable ones, on pseudorandom inputs.
//
// The Swift tests do the same and more; this program also runs where there is no Swift, such as an emulated Arm CPU.
// Results in integers, distances and dot products have to be the same to the bit; others agree to within a tolerance.

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "CKernels.h"
#if defined(HAS_EMULATED_TILES) && defined(__x86_64__)
// Built with tiles.h: the target for AMX on a CPU without it.
void lk_convolve_quantized_amx(const lk_quantized_convolution *, int32_t, int32_t, int32_t, int32_t);
static lk_kernels with_tiles;
#endif

enum { BLOCK = LK_CHANNEL_BLOCK, MOST = 1 << 17, ROUNDS = 6, SHAPES = 6 };

// The vector targets approximate the arc tangent, to a thousandth of a bin of 256 samples.
static const float tolerance = 1e-4f, angle_tolerance = 5e-3f;
static uint64_t state;
static const lk_kernels *portable, *tested;
static int failures;

static uint32_t draw(void) {
    // SplitMix64 (Steele, Lea, Flood: "Fast Splittable Pseudorandom Number Generators", 2014).
    uint64_t z = (state += 0x9E3779B97F4A7C15u);
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
    return (uint32_t)((z ^ (z >> 31)) >> 16);
}

static int32_t between(int32_t low, int32_t high) { return low + (int32_t)(draw() % (uint32_t)(high - low + 1)); }
static float unit(void) { return (float)(draw() & 0xFFFFFF) / (1 << 24); }

static void fill_floats(float *to, size_t count) {
    for (size_t i = 0; i < count; i++) to[i] = 2 * unit() - 1;
}

static void fill_bytes(void *to, size_t count) {
    uint8_t *bytes = to;
    // The extremes are frequent, so that sums which do not fit show.
    for (size_t i = 0; i < count; i++) bytes[i] = i % 5 == 0 ? 255 : (uint8_t)draw();
}

static void report(const char *name, int round, size_t place) {
    printf("%s: %s differs in round %d at %zu\n", tested->name, name, round, place);
    failures++;
}

static void same(const char *name, int round, const void *a, const void *b, size_t count) {
    const uint8_t *left = a, *right = b;
    for (size_t i = 0; i < count; i++)
        if (left[i] != right[i]) {
            report(name, round, i);
            return;
        }
}

static void close_within(float limit, const char *name, int round, const float *a, const float *b, size_t count) {
    for (size_t i = 0; i < count; i++)
        // Not “above”: a NaN is a difference.
        if (!(fabsf(a[i] - b[i]) <= limit * fmaxf(1, fabsf(a[i])))) {
            printf("%g, not %g: ", b[i], a[i]);
            report(name, round, i);
            return;
        }
}

static void close_to(const char *name, int round, const float *a, const float *b, size_t count) {
    close_within(tolerance, name, round, a, b, count);
}

// Inputs, and the outputs of both. Outputs begin equal, so that a write beyond the end shows.
static float floats[3][MOST], results[2][MOST];
static uint8_t bytes[2][MOST], byte_results[2][MOST];
static int32_t integers[2][MOST];
// Two of them have a sum of at most 128 in magnitude.
static int8_t small_codes[MOST];

static void begin(void) {
    for (int i = 0; i < 3; i++) fill_floats(floats[i], MOST);
    for (int i = 0; i < 2; i++) {
        fill_bytes(bytes[i], MOST);
        for (int j = 0; j < MOST; j++) results[i][j] = 0;
        memset(byte_results[i], 7, MOST);
        memset(integers[i], 7, sizeof integers[i]);
    }
    for (int i = 0; i < MOST; i++) small_codes[i] = (int8_t)((int8_t)bytes[1][i] / 2);
}

// A table by its index; after those that the CPU has, one with emulated tiles.
static const lk_kernels *kernels_at(int32_t index) {
    const lk_kernels *kernels = lk_kernels_at(index);
#if defined(HAS_EMULATED_TILES) && defined(__x86_64__)
    const lk_kernels *best = index > 0 ? lk_kernels_at(index - 1) : NULL;
    if (!kernels && best && strcmp(best->name, "avx512vnni") == 0) {
        with_tiles = *best;
        with_tiles.name = "amx, emulated";
        with_tiles.convolve_quantized = lk_convolve_quantized_amx;
        return &with_tiles;
    }
#endif
    return kernels;
}

static const lk_kernels *side(int which) { return which == 0 ? portable : tested; }

static void distances(int round) {
    const size_t dimension = (size_t)between(1, 300), count = (size_t)between(0, 40), stride = dimension + 3;
    for (int i = 0; i < 2; i++)
        side(i)->squared_distances(floats[0], floats[1], (ptrdiff_t)stride, count, dimension, results[i]);
    same("squared_distances", round, results[0], results[1], (count + 1) * sizeof(float));
    static uint16_t halves[MOST];
    lk_narrow(floats[1], MOST, halves);
    for (int i = 0; i < 2; i++)
        side(i)->squared_distances_of_halves(floats[0], halves, (ptrdiff_t)stride, count, dimension, results[i]);
    same("squared_distances_of_halves", round, results[0], results[1], (count + 1) * sizeof(float));
    for (int i = 0; i < 2; i++) side(i)->widen_halves(halves, dimension, results[i]);
    same("widen_halves", round, results[0], results[1], (dimension + 1) * sizeof(float));
    for (int i = 0; i < 2; i++)
        side(i)->dot_products(floats[0], floats[1], (ptrdiff_t)stride, count, dimension, results[i]);
    same("dot_products", round, results[0], results[1], (count + 1) * sizeof(float));
    for (int i = 0; i < 2; i++)
        side(i)->quantized_dot_products((int8_t *)bytes[0], bytes[1], (ptrdiff_t)stride, count, dimension, integers[i]);
    same("quantized_dot_products", round, integers[0], integers[1], (count + 1) * sizeof(int32_t));

    const size_t quads = (dimension + 3) / 4, groups = (count + 15) / 16, queries = (size_t)between(1, 9);
    static uint8_t packed[2][MOST];
    for (int i = 0; i < 2; i++) {
        side(i)->pack_quantized_rows(bytes[1], (ptrdiff_t)stride, count, dimension, packed[i]);
        side(i)->quantized_products(round % 2 ? small_codes : (int8_t *)bytes[0], queries, packed[i], groups, quads,
                                    integers[i]);
    }
    same("pack_quantized_rows", round, packed[0], packed[1], groups * quads * 64);
    same("quantized_products", round, integers[0], integers[1], (queries * groups * 16 + 1) * sizeof(int32_t));

    const lk_distance_bound bound = {0.3f, 0.9f, 1.1f, 5000, 0.2f};
    static uint32_t found[2][64];
    size_t within[2];
    for (int i = 0; i < 2; i++)
        within[i] =
            side(i)->select_candidates(&bound, integers[0], floats[0], floats[1], floats[2], count, 0.1f, found[i]);
    if (within[0] != within[1]) report("select_candidates", round, within[1]);
    else same("select_candidates", round, found[0], found[1], within[0] * sizeof(uint32_t));
}

static void convolutions(int round) {
    const int kernel = (int[]){1, 3, 5}[between(0, 2)], step = between(0, 2) ? between(1, 2) : between(3, 8);
    const int width = between(1, step > 2 ? 9 : 40), height = between(1, 3);
    const int inputs = between(1, 4), outputs = between(1, 3);
    const int columns = (width - 1) * step + kernel, rows = (height - 1) * step + kernel;
    const size_t count = (size_t)(outputs * width * height * BLOCK);
    for (int i = 0; i < 2; i++) {
        const lk_convolution convolution = {.input = floats[0],
                                            .input_block_stride = columns * rows * BLOCK,
                                            .row_step = step * columns * BLOCK,
                                            .pixel_step = step * BLOCK,
                                            .tap_row_stride = columns * BLOCK,
                                            .tap_stride = BLOCK,
                                            .input_channels = inputs * BLOCK - round % 3,
                                            .weights = floats[1],
                                            .bias = floats[2],
                                            .residual = round % 2 ? floats[2] + 64 : NULL,
                                            .output = results[i],
                                            .output_block_stride = width * height * BLOCK,
                                            .output_row_stride = width * BLOCK,
                                            .output_pixel_stride = BLOCK,
                                            .output_width = width,
                                            .kernel_height = kernel,
                                            .kernel_width = kernel,
                                            .relu = round % 2 == 0};
        side(i)->convolve(&convolution, 0, outputs, 0, height);
    }
    close_to("convolve", round, results[0], results[1], count + 1);
    memcpy(results[1], results[0], sizeof results[0]);
    for (int i = 0; i < 2; i++) {
        const lk_quantized_convolution convolution = {.input = bytes[0],
                                                      .input_block_stride = columns * rows * BLOCK,
                                                      .row_step = step * columns * BLOCK,
                                                      .pixel_step = step * BLOCK,
                                                      .tap_row_stride = columns * BLOCK,
                                                      .tap_stride = BLOCK,
                                                      .input_blocks = inputs,
                                                      .weights = small_codes,
                                                      .scales = floats[1],
                                                      .bias = floats[2],
                                                      .quantized_residual = round % 2 ? bytes[1] + 99 : NULL,
                                                      .residual_scale = 0.7f,
                                                      .quantized_output = round % 3 ? byte_results[i] : NULL,
                                                      .output = results[i],
                                                      .output_block_stride = width * height * BLOCK,
                                                      .output_row_stride = width * BLOCK,
                                                      .output_width = width,
                                                      .kernel_height = kernel,
                                                      .kernel_width = kernel,
                                                      .relu = true};
        side(i)->convolve_quantized(&convolution, 0, outputs, 0, height);
        side(i)->convolve_quantized(&convolution, outputs - 1, outputs, height - 1, height);
    }
    same("convolve_quantized to int8", round, byte_results[0], byte_results[1], count + 1);
    same("convolve_quantized", round, results[0], results[1], (count + 1) * sizeof(float));

    for (int i = 0; i < 2; i++) {
        const lk_depthwise_convolution convolution = {.input = floats[0],
                                                      .input_block_stride = columns * rows * BLOCK,
                                                      .row_step = step * columns * BLOCK,
                                                      .pixel_step = step * BLOCK,
                                                      .tap_row_stride = columns * BLOCK,
                                                      .tap_stride = BLOCK,
                                                      .weights = floats[1],
                                                      .bias = floats[2],
                                                      .output = results[i],
                                                      .output_block_stride = width * height * BLOCK,
                                                      .output_row_stride = width * BLOCK,
                                                      .output_width = width,
                                                      .kernel_height = kernel,
                                                      .kernel_width = kernel,
                                                      .relu = round % 2 == 0};
        side(i)->convolve_depthwise(&convolution, 0, inputs, 0, height);
    }
    close_to("convolve_depthwise", round, results[0], results[1], (size_t)(inputs * width * height * BLOCK));
    const size_t pooled = (size_t)(width * height * BLOCK);
    lk_pooling pooling = {.input = floats[0],
                          .input_row_stride = columns * BLOCK,
                          .input_width = columns,
                          .input_height = rows,
                          .kernel_width = kernel,
                          .kernel_height = kernel,
                          .stride_x = step,
                          .stride_y = step,
                          .dilation_x = 1,
                          .dilation_y = 1,
                          .padding_left = kernel / 2,
                          .padding_top = kernel / 2,
                          .mean = round % 2 == 0,
                          .output_row_stride = width * BLOCK,
                          .output_width = width};
    for (int i = 0; i < 2; i++) {
        pooling.output = results[i];
        side(i)->pool(&pooling, 0, height);
    }
    close_to("pool", round, results[0], results[1], pooled);
    // Codes, whose pooling is the same source on every target, against the floats that they stand for.
    static float widened[MOST], expected[MOST], found[MOST];
    static uint8_t largest[MOST];
    portable->dequantize(bytes[0], 0.03f, 117, (size_t)(columns * rows * BLOCK), widened);
    pooling.input = widened;
    pooling.output = expected;
    portable->pool(&pooling, 0, height);
    pooling.quantized_input = bytes[0];
    pooling.quantized_output = largest;
    pooling.scale = 0.03f;
    pooling.zero_point = 117;
    pooling.output = found;
    lk_pool_quantized(&pooling, 0, height);
    if (!pooling.mean) portable->dequantize(largest, 0.03f, 117, pooled, found);
    close_to("pool_quantized", round, expected, found, pooled);
    for (int i = 0; i < 2; i++) side(i)->quantize(floats[0], 90, 117, count - 3, byte_results[i]);
    same("quantize", round, byte_results[0], byte_results[1], count);
    memcpy(results[1], results[0], sizeof results[0]);
    for (int i = 0; i < 2; i++) side(i)->dequantize(bytes[0], 0.03f, 117, count - 3, results[i]);
    same("dequantize", round, results[0], results[1], count * sizeof(float));
    for (int kind = LK_CLAMP; kind <= LK_RECIPROCAL; kind++) {
        // Logarithms, roots and reciprocals of numbers that have some.
        const bool is_positive = kind == LK_LOG || kind == LK_SQRT || kind == LK_RECIPROCAL;
        for (size_t i = 0; i < count; i++)
            results[0][i] = results[1][i] = is_positive ? 0.1f + fabsf(floats[0][i]) : 6 * floats[0][i];
        const lk_activation activation = {(lk_activation_kind)kind, -0.5f, 0.75f};
        for (int i = 0; i < 2; i++) side(i)->activate(&activation, results[i], count, results[i]);
        close_to("activate", round, results[0], results[1], count);
    }
    for (int operation = LK_ADD; operation <= LK_PRELU; operation++) {
        for (size_t i = 0; i < count; i++) results[0][i] = results[1][i] = 0.1f + fabsf(floats[0][i]);
        const lk_operand right = {floats[1], (lk_operand_mode)(round % 3)};
        for (int i = 0; i < 2; i++)
            side(i)->combine((lk_combination)operation, (lk_operand){results[i], LK_EACH}, right, count, results[i]);
        close_to("combine", round, results[0], results[1], count);
    }

    const lk_winograd winograd = {.width = between(5, 8), .height = between(5, 8), .tile_rows = 2, .tile_columns = 2};
    for (int i = 0; i < 2; i++)
        side(i)->winograd_input(&winograd, floats[0], 10 * 10 * BLOCK, 10 * BLOCK, 2, results[i]);
    close_to("winograd_input", round, results[0], results[1], 36 * 2 * 4 * BLOCK);
    for (int i = 0; i < 2; i++)
        side(i)->winograd_output(&winograd, floats[0], 2, floats[1], round % 2 ? floats[2] : NULL, results[i],
                                 8 * 8 * BLOCK, 8 * BLOCK, true);
    close_to("winograd_output", round, results[0], results[1], 2 * 8 * 8 * BLOCK);
    for (int i = 0; i < 2; i++) side(i)->generalized_mean(floats[0], 9 * BLOCK, 7, 5, 3, 1e-6f, results[i]);
    close_to("generalized_mean", round, results[0], results[1], BLOCK + 1);
}

static void resizing(int round) {
    const int channels = (int[]){1, 3, 4}[between(0, 2)], width = between(8, 90), factor = between(1, 9);
    const int32_t cells = (width + factor - 1) / factor;
    static uint16_t sums[2][MOST];
    memset(sums, 0, sizeof sums);
    for (int i = 0; i < 2; i++) side(i)->sum_rows(bytes[0], width * channels, 5, (size_t)(width * channels), sums[i]);
    same("sum_rows", round, sums[0], sums[1], ((size_t)(width * channels) + 1) * sizeof(uint16_t));
    for (int i = 0; i < 2; i++) side(i)->sum_columns(sums[0], channels, width, factor, true, results[i]);
    same("sum_columns", round, results[0], results[1], ((size_t)cells * 4 + 1) * sizeof(float));
    for (int i = 0; i < 2; i++) side(i)->sum_cells(bytes[0], width * 4, 7, width, 4 * (1 + factor % 3), results[i]);
    same("sum_cells", round, results[0], results[1], (size_t)cells * sizeof(float));

    for (int i = 0; i < 2; i++) side(i)->halve_rows(bytes[0], width * 9, 3 + round % 2, width, (uint8_t *)results[i]);
    same("halve_rows", round, results[0], results[1], ((size_t)width + 1) * 4);

    lk_filter_span spans[30];
    for (int i = 0; i < 30; i++)
        spans[i] = (lk_filter_span){.first = between(0, 50), .count = between(1, 9), .offset = i};
    for (int i = 0; i < 2; i++) side(i)->filter_columns(floats[0], spans, floats[1], 30, results[i]);
    close_to("filter_columns", round, results[0], results[1], 30 * 4 + 1);
    for (int i = 0; i < 2; i++) side(i)->filter_row(floats[0], spans, floats[1], 30, results[i]);
    close_to("filter_row", round, results[0], results[1], 31);
    for (int i = 0; i < 2; i++) side(i)->accumulate(floats[0], 0.3f, (size_t)width, results[i]);
    close_to("accumulate", round, results[0], results[1], (size_t)width + 1);
    lk_pixel_layout layout = {.order = (lk_channel_order)(round % 3),
                              .premultiplied = round % 2,
                              .multiply = {2, 3, 4},
                              .add = {-1, 0, 1},
                              .pixel_stride = 3 + round};
    for (int i = 0; i < 2; i++) side(i)->write_pixels(floats[0], width, &layout, results[i]);
    close_to("write_pixels", round, results[0], results[1], (size_t)(width * layout.pixel_stride));
    const lk_projection projection = {{1.1f, 0.1f, -2, 0.05f, 0.9f, 1, 1e-3f, 2e-3f, 1}};
    for (int i = 0; i < 2; i++) side(i)->sample(floats[0], 40, 30, &projection, 7, width, results[i]);
    close_to("sample", round, results[0], results[1], (size_t)width * 4);
    for (int i = 0; i < 2; i++) side(i)->luma_row(bytes[0], channels, floats[1], width, results[i]);
    close_to("luma_row", round, results[0], results[1], (size_t)width + 1);
}

static void features(int round) {
    const lk_plane plane = {.pixels = floats[0], .stride = 64, .width = 50, .height = 40};
    static float line[64 + 2 * LK_LARGEST_BLUR_RADIUS];
    float taps[8];
    for (int i = 0; i < 8; i++) taps[i] = 0.1f / (float)(i + 1);
    for (int i = 0; i < 2; i++) {
        // In two bands.
        for (int band = 0; band < 2; band++)
            side(i)->gaussian_blur(&plane, taps, 1 + round % 7, 1 + round % 3, 13 * band, band ? 40 : 13, line,
                                   results[i]);
    }
    for (int row = 0; row < 40; row++)
        close_to("gaussian_blur", round, results[0] + row * 64, results[1] + row * 64, 50);
    const float *gaussians[4] = {floats[0], floats[1], floats[2], floats[0]};
    static lk_pixel pixels[2][4096];
    size_t found[2];
    for (int i = 0; i < 2; i++)
        found[i] = side(i)->scale_space_extrema(gaussians, 64, 50, 5, 35, 5, 0.2f, pixels[i], 4096);
    if (found[0] != found[1]) report("scale_space_extrema", round, found[1]);
    else same("scale_space_extrema", round, pixels[0], pixels[1], found[0] * sizeof(lk_pixel));
    const lk_patch patch = {.plane = plane, .x = 24.3f, .y = 19.8f, .spacing = 0.9f, .cosine = 0.8f, .sine = 0.6f};
    for (int i = 0; i < 2; i++) side(i)->orientation_histogram(&patch, floats[1], results[i]);
    close_within(angle_tolerance, "orientation_histogram", round, results[0], results[1], LK_ORIENTATION_BINS);
    for (int i = 0; i < 2; i++) side(i)->gradient_descriptor(&patch, floats[1], results[i]);
    close_within(angle_tolerance, "gradient_descriptor", round, results[0], results[1], LK_DESCRIPTOR_LENGTH);

    lk_quantization quantized[2];
    for (int i = 0; i < 2; i++) quantized[i] = side(i)->quantize_components(floats[1], 128, (int8_t *)byte_results[i]);
    same("quantize_components", round, byte_results[0], byte_results[1], 128);
    if (quantized[0].sum != quantized[1].sum || quantized[0].unit != quantized[1].unit)
        report("quantize_components, unit and sum", round, 0);
    for (int j = 0; j < 256; j++) integers[0][j] = between(-9000, 9000);
    lk_nearest_centers nearest[2] = {{.capacity = 5}, {.capacity = 5}};
    for (int i = 0; i < 2; i++) side(i)->offer_centers(integers[0], 17, 0.01f, floats[0], 256, 3, &nearest[i]);
    same("offer_centers", round, nearest[0].indices, nearest[1].indices, 5 * sizeof(int32_t));
    lk_best_two best[2];
    for (int i = 0; i < 2; i++) side(i)->best_two(integers[0], 17, floats[0], 256, &best[i]);
    if (best[0].row != best[1].row || best[0].best != best[1].best || best[0].second != best[1].second)
        report("best_two", round, 0);
    static uint16_t words[9];
    static uint64_t signatures[2][9];
    for (int j = 0; j < 9; j++) words[j] = (uint16_t)between(0, 9);
    for (int i = 0; i < 2; i++)
        side(i)->signatures((uint8_t *)(void *)floats[0], (uint8_t *)(void *)floats[1], words, 9, signatures[i]);
    same("signatures", round, signatures[0], signatures[1], sizeof signatures[0]);
    uint32_t squares[2];
    const uint64_t above = (uint64_t)draw() << 32 | draw(), far = (uint64_t)draw() << 32 | draw();
    const uint8_t zero = (uint8_t)draw(), *offsets = bytes[0] + 64;
    for (int i = 0; i < 2; i++)
        squares[i] = side(i)->restore_descriptor(bytes[0], above, far, offsets, offsets + 64, zero, byte_results[i]);
    if (squares[0] != squares[1]) report("restore_descriptor, squares", round, 0);
    same("restore_descriptor", round, byte_results[0], byte_results[1], 64);
    static lk_hamming near[2][256];
    for (int i = 0; i < 2; i++)
        found[i] = side(i)->hamming_within(0x89ABCDEFu, (uint32_t *)(void *)floats[0], 251, 13, near[i]);
    if (found[0] != found[1]) report("hamming_within", round, found[1]);
    else same("hamming_within", round, near[0], near[1], found[0] * sizeof(lk_hamming));
    enum { BINARY_COLUMNS = 12, BLOCK_BYTES = BINARY_COLUMNS * 16 + LK_BINARY_FACTOR_BYTES };
    static uint8_t tables[BINARY_COLUMNS * 16];
    static float blocks[3 * BLOCK_BYTES / sizeof(float)], bounds[2][96];
    static uint32_t codes[2][96];
    for (size_t i = 0; i < sizeof tables; i++) tables[i] = (uint8_t)draw();
    for (size_t i = 0; i < sizeof blocks / sizeof *blocks; i++) {
        const size_t place = i * sizeof(float) % BLOCK_BYTES;
        const uint32_t bits = draw();
        if (place < BINARY_COLUMNS * 16) memcpy(blocks + i, &bits, sizeof bits);
        else blocks[i] = (float)(bits & 1023) / 1024;
    }
    const lk_binary_query query = {tables, BINARY_COLUMNS, 0.0005f, -1, 0.2f, 0.5f};
    for (int i = 0; i < 2; i++)
        found[i] = side(i)->select_binary_codes(&query, (uint8_t *)blocks, 93, 0.6f, codes[i], bounds[i]);
    if (found[0] != found[1] || found[0] == 0 || found[0] == 93) report("select_binary_codes", round, found[1]);
    same("select_binary_codes", round, codes[0], codes[1], found[0] * sizeof(uint32_t));
    same("select_binary_codes", round, bounds[0], bounds[1], found[0] * sizeof(float));
}

static void attention(int round) {
    const size_t count = (size_t)between(1, 90), width = (size_t)between(1, 70), length = 16 * (size_t)between(1, 5);
    const ptrdiff_t stride = 96;
    static uint8_t codes[2][MOST];
    float units[2];
    for (int i = 0; i < 2; i++) {
        memset(codes[i], 7, MOST);
        units[i] = side(i)->softmax_codes(floats[0], 48, count, 9, round % 2 ? floats[1] : NULL, codes[i]);
    }
    same("softmax_codes", round, codes[0], codes[1], MOST);
    same("softmax_codes, unit", round, &units[0], &units[1], sizeof(float));
    for (int i = 0; i < 2; i++)
        side(i)->pack_quantized_lines(floats[0], stride, count, length, (int8_t *)codes[i], results[i],
                                      results[i] + 128);
    same("pack_quantized_lines", round, codes[0], codes[1], MOST);
    same("pack_quantized_lines, scales", round, results[0], results[1], 256 * sizeof(float));
    for (int i = 0; i < 2; i++)
        side(i)->pack_quantized_columns(floats[1], stride, count, width, (int8_t *)codes[i], results[i]);
    same("pack_quantized_columns", round, codes[0], codes[1], MOST);
    same("pack_quantized_columns, scales", round, results[0], results[1], 256 * sizeof(float));
}

int main(void) {
    int targets = 0;
    portable = lk_kernels_at(0);
    for (int32_t index = 1; (tested = kernels_at(index)); index++) {
        targets++;
        double relative_time;
        if (!lk_try_quantized_convolution(tested, portable, &relative_time)) report("trial", 0, 0);
        for (int round = 0; round < ROUNDS; round++) {
            state = (uint64_t)round * 1000 + 5;
            begin();
            distances(round);
            for (int shape = 0; shape < SHAPES; shape++) {
                begin();
                convolutions(round);
            }
            begin();
            resizing(round);
            begin();
            features(round);
            begin();
            attention(round);
        }
        printf("%s: %s\n", tested->name, failures ? "differs from the portable kernels" : "as the portable kernels");
    }
    if (targets == 0) printf("this CPU has no SIMD target\n");
    return failures > 0 || targets == 0;
}
