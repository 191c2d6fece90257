// Matrix products of Intel's Advanced Matrix Extensions (AMX): one instruction (tdpbusd) multiplies up to 64 bytes of
// each of 16 pixels by the weights of 16 output channels. Four accumulators share what is loaded: those of two groups
// of pixels and two blocks of outputs. Intel: "64 and IA-32 Architectures Software Developer's Manual", volume 1,
// chapter "Programming with Intel AMX".

#include "quantized_result.h"

enum {
    TILE_PIXELS = 16,
    TILE_BYTES = 64,
    // Kernel rows of so many taps are multiplied where they lie, if the taps of a pixel are neighbors.
    MOST_TAPS_IN_PLACE = TILE_BYTES / LK_CHANNEL_BLOCK,
    // In narrower maps a tile of pixels side by side stays so empty that collecting their inputs is faster.
    LEAST_WIDTH_IN_PLACE = 13,
    // Bytes of a pixel's inputs that are collected: 3x3 taps of 512 channels.
    MOST_COLLECTED = 4608
};

// The registers: sums of [group of pixels][block of outputs], then the operands.
enum { SUMS_00, SUMS_01, SUMS_10, SUMS_11, PIXELS_0, PIXELS_1, WEIGHTS_0, WEIGHTS_1, REGISTERS };

// The operand of ldtilecfg: the rows of each register, and the bytes of a row.
typedef struct {
    uint8_t palette;
    uint8_t first_row;
    uint8_t reserved[14];
    uint16_t row_bytes[16];
    uint8_t rows[16];
} tile_configuration;

// Where the inputs of a pixel are, as lines of `line_bytes` in the order of the weights. `pixel_step` leads to the next
// pixel of the group.
typedef struct {
    ptrdiff_t pixel_step;
    ptrdiff_t plane_stride;
    ptrdiff_t line_stride;
    int32_t planes;
    int32_t lines;
    int32_t line_bytes;
} input_lines;

// Pixels one after another in the map; the first `done` of them belong to the group before.
typedef struct {
    const uint8_t *input;
    int32_t first;
    int32_t done;
} pixel_group;

static void configure(int32_t pixels, int32_t line_bytes) {
    tile_configuration tiles = {.palette = 1};
    for (int i = 0; i < REGISTERS; i++) {
        tiles.rows[i] = (uint8_t)(i < WEIGHTS_0 ? pixels : line_bytes / 4);
        tiles.row_bytes[i] = (uint16_t)(i == PIXELS_0 || i == PIXELS_1 ? line_bytes : TILE_BYTES);
    }
    _tile_loadconfig(&tiles);
}

LK_INLINE void multiply(const input_lines *lines, const pixel_group *groups, const int8_t *weights,
                        ptrdiff_t weight_block_stride, const bool two_groups, const bool two_blocks,
                        lk_i32x16 sums[2][2][TILE_PIXELS]) {
    _tile_zero(SUMS_00);
    _tile_zero(SUMS_01);
    _tile_zero(SUMS_10);
    _tile_zero(SUMS_11);
    for (int32_t plane = 0; plane < lines->planes; plane++)
        for (int32_t line = 0; line < lines->lines; line++) {
            const ptrdiff_t at = plane * lines->plane_stride + line * lines->line_stride;
            _tile_loadd(WEIGHTS_0, weights, TILE_BYTES);
            _tile_loadd(PIXELS_0, groups[0].input + at, lines->pixel_step);
            _tile_dpbusd(SUMS_00, PIXELS_0, WEIGHTS_0);
            if (two_blocks) {
                _tile_loadd(WEIGHTS_1, weights + weight_block_stride, TILE_BYTES);
                _tile_dpbusd(SUMS_01, PIXELS_0, WEIGHTS_1);
            }
            if (two_groups) {
                _tile_loadd(PIXELS_1, groups[1].input + at, lines->pixel_step);
                _tile_dpbusd(SUMS_10, PIXELS_1, WEIGHTS_0);
                if (two_blocks) _tile_dpbusd(SUMS_11, PIXELS_1, WEIGHTS_1);
            }
            weights += lines->line_bytes * LK_CHANNEL_BLOCK;
        }
    _tile_stored(SUMS_00, sums[0][0], TILE_BYTES);
    if (two_blocks) _tile_stored(SUMS_01, sums[0][1], TILE_BYTES);
    if (two_groups) _tile_stored(SUMS_10, sums[1][0], TILE_BYTES);
    if (two_groups && two_blocks) _tile_stored(SUMS_11, sums[1][1], TILE_BYTES);
}

static void store(const lk_quantized_convolution *c, const lk_i32x16 *sums, const pixel_group *group, int32_t pixels,
                  int32_t block) {
    for (int32_t i = group->done; i < pixels;) {
        const int32_t row = (group->first + i) / c->output_width, x = (group->first + i) % c->output_width;
        const int32_t count = pixels - i < c->output_width - x ? pixels - i : c->output_width - x;
        lk_store_quantized_results(c, sums + i, count, block,
                                   block * c->output_block_stride + row * c->output_row_stride +
                                       (ptrdiff_t)x * LK_CHANNEL_BLOCK);
        i += count;
    }
}

// All blocks of one or two groups.
static void compute(const lk_quantized_convolution *c, const input_lines *lines, const pixel_group *groups,
                    int32_t group_count, int32_t pixels, int32_t block_begin, int32_t block_end) {
    const ptrdiff_t stride = (ptrdiff_t)lines->planes * lines->lines * lines->line_bytes * LK_CHANNEL_BLOCK;
    lk_i32x16 sums[2][2][TILE_PIXELS];
    for (int32_t block = block_begin; block < block_end; block += 2) {
        const bool two_blocks = block + 1 < block_end;
        const int8_t *weights = c->weights + block * stride;
        if (group_count == 2 && two_blocks) multiply(lines, groups, weights, stride, true, true, sums);
        else if (group_count == 2) multiply(lines, groups, weights, stride, true, false, sums);
        else if (two_blocks) multiply(lines, groups, weights, stride, false, true, sums);
        else multiply(lines, groups, weights, stride, false, false, sums);
        for (int32_t group = 0; group < group_count; group++)
            for (int32_t b = 0; b < 1 + two_blocks; b++) store(c, sums[group][b], groups + group, pixels, block + b);
    }
}

// Kernel rows lie side by side, so each is a line. The pixels of a group are in one row of the map.
static void convolve_in_place(const lk_quantized_convolution *c, int32_t block_begin, int32_t block_end,
                              int32_t row_begin, int32_t row_end) {
    const input_lines lines = {.pixel_step = c->pixel_step,
                               .plane_stride = c->input_block_stride,
                               .line_stride = c->tap_row_stride,
                               .planes = c->input_blocks,
                               .lines = c->kernel_height,
                               .line_bytes = c->kernel_width * LK_CHANNEL_BLOCK};
    const int32_t pixels = c->output_width < TILE_PIXELS ? c->output_width : TILE_PIXELS;
    configure(pixels, lines.line_bytes);
    pixel_group groups[2];
    int32_t count = 0;
    for (int32_t row = row_begin; row < row_end; row++)
        for (int32_t next = 0; next < c->output_width; next += pixels) {
            const int32_t x = next < c->output_width - pixels ? next : c->output_width - pixels;
            groups[count++] = (pixel_group){.input = c->input + row * c->row_step + x * c->pixel_step,
                                            .first = row * c->output_width + x,
                                            .done = next - x};
            if (count < 2) continue;
            compute(c, &lines, groups, count, pixels, block_begin, block_end);
            count = 0;
        }
    if (count > 0) compute(c, &lines, groups, count, pixels, block_begin, block_end);
    _tile_release();
}

// All inputs of a pixel side by side. May write up to 64 bytes beyond them.
LK_INLINE uint8_t *collect(const lk_quantized_convolution *c, int32_t pixel, int32_t taps_at_once, uint8_t *to) {
    const uint8_t *first = c->input + pixel / c->output_width * c->row_step + pixel % c->output_width * c->pixel_step;
    const __mmask16 quads = (__mmask16)((1u << taps_at_once * LK_CHANNEL_BLOCK / 4) - 1);
    for (int32_t block = 0; block < c->input_blocks; block++)
        for (int32_t ky = 0; ky < c->kernel_height; ky++)
            for (int32_t kx = 0; kx < c->kernel_width; kx += taps_at_once) {
                const uint8_t *taps =
                    first + block * c->input_block_stride + ky * c->tap_row_stride + kx * c->tap_stride;
                _mm512_storeu_si512(to, _mm512_maskz_loadu_epi32(quads, taps));
                to += taps_at_once * LK_CHANNEL_BLOCK;
            }
    return to;
}

// The inputs of each pixel are collected first, so a group may span several rows of a narrow map.
static void convolve_collected(const lk_quantized_convolution *c, int32_t block_begin, int32_t block_end,
                               int32_t row_begin, int32_t row_end, int32_t taps_at_once) {
    const int32_t input_bytes = c->input_blocks * c->kernel_height * c->kernel_width * LK_CHANNEL_BLOCK;
    int32_t line_bytes = TILE_BYTES;
    while (input_bytes % line_bytes != 0) line_bytes -= LK_CHANNEL_BLOCK;
    const input_lines lines = {.pixel_step = input_bytes,
                               .line_stride = line_bytes,
                               .planes = 1,
                               .lines = input_bytes / line_bytes,
                               .line_bytes = line_bytes};
    uint8_t collected[2 * TILE_PIXELS * MOST_COLLECTED + TILE_BYTES] __attribute__((aligned(TILE_BYTES)));
    const int32_t begin = row_begin * c->output_width, end = row_end * c->output_width;
    const int32_t pixels = end - begin < TILE_PIXELS ? end - begin : TILE_PIXELS;
    configure(pixels, line_bytes);
    for (int32_t next = begin; next < end;) {
        pixel_group groups[2];
        int32_t count = 0;
        uint8_t *to = collected;
        for (; count < 2 && next < end; count++) {
            const int32_t first = next < end - pixels ? next : end - pixels;
            groups[count] = (pixel_group){.input = to, .first = first, .done = next - first};
            for (int32_t i = 0; i < pixels; i++) to = collect(c, first + i, taps_at_once, to);
            next = first + pixels;
        }
        compute(c, &lines, groups, count, pixels, block_begin, block_end);
    }
    _tile_release();
}

void KERNEL(convolve_quantized)(const lk_quantized_convolution *c, int32_t block_begin, int32_t block_end,
                                int32_t row_begin, int32_t row_end) {
    if (row_begin >= row_end) return;
    const bool has_neighboring_taps = c->tap_stride == LK_CHANNEL_BLOCK && c->kernel_width <= MOST_TAPS_IN_PLACE;
    if (has_neighboring_taps && c->kernel_width > 1 && c->output_width >= LEAST_WIDTH_IN_PLACE)
        convolve_in_place(c, block_begin, block_end, row_begin, row_end);
    else if ((int64_t)c->input_blocks * c->kernel_height * c->kernel_width * LK_CHANNEL_BLOCK <= MOST_COLLECTED)
        convolve_collected(c, block_begin, block_end, row_begin, row_end, has_neighboring_taps ? c->kernel_width : 1);
    else lk_convolve_quantized_avx512vnni(c, block_begin, block_end, row_begin, row_end);
}
