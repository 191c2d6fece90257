// float32 weights in the order in which convolve reads them. One version for all targets: a model's weights are packed
// once.

#include "../stored_numbers/stored_numbers.h"

enum {
    BLOCK = LK_CHANNEL_BLOCK,
    // Numbers of an output that are widened at once. Sixteen outputs' stay in the first-level cache.
    CHUNK = 256,
    // The rows of the chunks start in different sets of the cache.
    STRIDE = CHUNK + BLOCK,
    TAPS = 9,
    SIDE = 6
};

static size_t least(size_t a, size_t b) { return a < b ? a : b; }

// Widens a chunk of each output's numbers; `step` is the number of all that an output has.
static void widen_rows(const uint8_t *weights, lk_number_format format, size_t outputs, size_t step, size_t start,
                       size_t count, float *rows) {
    const size_t size = lk_number_size(format);
    for (size_t output = 0; output < outputs; output++)
        lk_widen(weights + (output * step + start) * size, format, count, rows + output * STRIDE);
}

void lk_pack_weights(const void *weights, lk_number_format format, size_t outputs, size_t inputs, size_t taps,
                     float *packed) {
    float rows[BLOCK * STRIDE] = {0};
    for (size_t first = 0; first < inputs; first += BLOCK) {
        const size_t together = least(BLOCK, inputs - first), count = together * taps;
        size_t input = 0, tap = 0;
        for (size_t start = 0; start < count; start += CHUNK) {
            const size_t length = least(CHUNK, count - start);
            widen_rows(weights, format, outputs, inputs * taps, first * taps + start, length, rows);
            for (size_t i = 0; i < length; i++) {
                float *to = packed + (tap * together + input) * BLOCK;
                for (size_t output = 0; output < BLOCK; output++) to[output] = rows[output * STRIDE + i];
                if (++tap == taps) tap = 0, input++;
            }
        }
        packed += count * BLOCK;
    }
}

// G g of a column g: its six components, for sixteen outputs.
static void transform(double g[3][BLOCK], double components[SIDE][BLOCK]) {
    for (size_t i = 0; i < BLOCK; i++) {
        const double a = g[0][i], b = g[1][i], c = g[2][i];
        const double even = (a + c) * (-1.0 / 6), odd = b * (1.0 / 6);
        const double wide_even = a * (1.0 / 24) + c * (1.0 / 6), wide_odd = b * (1.0 / 12);
        components[0][i] = a * 0.25;
        components[1][i] = even - odd;
        components[2][i] = even + odd;
        components[3][i] = wide_even + wide_odd;
        components[4][i] = wide_even - wide_odd;
        components[5][i] = c;
    }
}

void lk_pack_winograd_weights(const void *weights, lk_number_format format, size_t outputs, size_t inputs,
                              size_t component_stride, float *packed) {
    enum { TOGETHER = CHUNK / TAPS };
    float rows[BLOCK * STRIDE] = {0};
    for (size_t first = 0; first < inputs; first += TOGETHER) {
        const size_t count = least(TOGETHER, inputs - first);
        widen_rows(weights, format, outputs, inputs * TAPS, first * TAPS, count * TAPS, rows);
        for (size_t input = 0; input < count; input++) {
            // By columns: the transposed of g, of G g, and of G g G'.
            double filter[3][3][BLOCK], columns[3][SIDE][BLOCK];
            for (size_t y = 0; y < 3; y++)
                for (size_t x = 0; x < 3; x++)
                    for (size_t output = 0; output < BLOCK; output++)
                        filter[x][y][output] = rows[output * STRIDE + input * TAPS + y * 3 + x];
            for (size_t x = 0; x < 3; x++) transform(filter[x], columns[x]);
            for (size_t y = 0; y < SIDE; y++) {
                double row[3][BLOCK], results[SIDE][BLOCK];
                for (size_t x = 0; x < 3; x++) memcpy(row[x], columns[x][y], sizeof row[x]);
                transform(row, results);
                for (size_t x = 0; x < SIDE; x++) {
                    float *to = packed + (y * SIDE + x) * component_stride + (first + input) * BLOCK;
                    for (size_t output = 0; output < BLOCK; output++) to[output] = (float)results[x][output];
                }
            }
        }
    }
}
