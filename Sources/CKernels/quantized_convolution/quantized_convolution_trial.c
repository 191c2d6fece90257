// Clocks.
#define _GNU_SOURCE
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "../kernel_tables.h"

// A square map and a square kernel, and the channels in blocks.
typedef struct {
    int32_t side;
    int32_t kernel;
    int32_t input_blocks;
    int32_t output_blocks;
} trial_layer;

// Layers like those in the later half of a residual network, where most of its operations are: wide rows, narrow maps
// of many channels, and 1x1.
static const trial_layer layers[] = {{14, 3, 8, 4}, {7, 3, 16, 4}, {14, 1, 16, 4}};

enum {
    LAYERS = sizeof layers / sizeof layers[0],
    // Enough for every layer: (14 + 2)^2 pixels of 16 blocks, 3x3 taps of 16 blocks, 14^2 pixels of 4.
    MOST_INPUTS = 16 * 16 * 16 * LK_CHANNEL_BLOCK,
    MOST_WEIGHTS = 4 * 16 * 9 * LK_CHANNEL_BLOCK * LK_CHANNEL_BLOCK,
    MOST_OUTPUTS = 4 * 14 * 14 * LK_CHANNEL_BLOCK,
    OUTPUTS = 4 * LK_CHANNEL_BLOCK,
    // The first run reads what the others find in the cache.
    RUNS = 4
};

typedef struct {
    uint8_t inputs[MOST_INPUTS];
    int8_t weights[MOST_WEIGHTS];
    uint8_t outputs[2][MOST_OUTPUTS];
    float scales[OUTPUTS];
    float bias[OUTPUTS];
} trial_data;

static void fill(trial_data *data) {
    // Xorshift (Marsaglia: "Xorshift RNGs", 2003).
    uint32_t state = 2463534242;
    for (size_t i = 0; i < sizeof data->inputs + sizeof data->weights; i++) {
        state ^= state << 13;
        state ^= state >> 17;
        state ^= state << 5;
        if (i < sizeof data->inputs) data->inputs[i] = (uint8_t)(state >> 24);
        else data->weights[i - sizeof data->inputs] = (int8_t)((int8_t)(state >> 24) / 2);
    }
    for (int i = 0; i < OUTPUTS; i++) {
        // Most sums then have a code of their own, and some are clamped.
        data->scales[i] = 2e-4f;
        data->bias[i] = 128;
    }
}

static double now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

// The seconds of the fastest run.
static double convolve(const lk_kernels *kernels, const trial_layer *layer, trial_data *data, uint8_t *outputs) {
    const int32_t columns = layer->side + layer->kernel - 1;
    const lk_quantized_convolution convolution = {.input = data->inputs,
                                                  .input_block_stride = (ptrdiff_t)columns * columns * LK_CHANNEL_BLOCK,
                                                  .row_step = (ptrdiff_t)columns * LK_CHANNEL_BLOCK,
                                                  .pixel_step = LK_CHANNEL_BLOCK,
                                                  .tap_row_stride = (ptrdiff_t)columns * LK_CHANNEL_BLOCK,
                                                  .tap_stride = LK_CHANNEL_BLOCK,
                                                  .input_blocks = layer->input_blocks,
                                                  .weights = data->weights,
                                                  .scales = data->scales,
                                                  .bias = data->bias,
                                                  .quantized_output = outputs,
                                                  .output_block_stride =
                                                      (ptrdiff_t)layer->side * layer->side * LK_CHANNEL_BLOCK,
                                                  .output_row_stride = (ptrdiff_t)layer->side * LK_CHANNEL_BLOCK,
                                                  .output_width = layer->side,
                                                  .kernel_height = layer->kernel,
                                                  .kernel_width = layer->kernel,
                                                  .relu = true};
    double fastest = 0;
    for (int run = 0; run < RUNS; run++) {
        const double start = now();
        kernels->convolve_quantized(&convolution, 0, layer->output_blocks, 0, layer->side);
        const double seconds = now() - start;
        if (run == 0 || seconds < fastest) fastest = seconds;
    }
    return fastest;
}

bool lk_try_quantized_convolution(const lk_kernels *candidate, const lk_kernels *trusted, double *relative_time) {
    trial_data *data = malloc(sizeof *data);
    if (!data) return false;
    fill(data);
    bool agrees = true;
    double candidate_seconds = 0, trusted_seconds = 0;
    for (int i = 0; i < LAYERS && agrees; i++) {
        memset(data->outputs, 0, sizeof data->outputs);
        trusted_seconds += convolve(trusted, &layers[i], data, data->outputs[0]);
        candidate_seconds += convolve(candidate, &layers[i], data, data->outputs[1]);
        agrees = memcmp(data->outputs[0], data->outputs[1], MOST_OUTPUTS) == 0;
    }
    free(data);
    *relative_time = candidate_seconds / trusted_seconds;
    return agrees;
}
