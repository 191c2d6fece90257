#include "../vector.h"
#include "CKernels.h"

double lk_squared_norm(const float *row, size_t count) {
    typedef double f64x8 __attribute__((vector_size(64)));
    const size_t whole = count / 8 * 8;
    f64x8 sums = {0};
    for (size_t first = 0; first < whole; first += 8) {
        lk_f32x8 components;
        memcpy(&components, row + first, sizeof components);
        const f64x8 wide = __builtin_convertvector(components, f64x8);
        sums += wide * wide;
    }
    double sum = 0;
    for (int lane = 0; lane < 8; lane++) sum += sums[lane];
    for (size_t i = whole; i < count; i++) sum += (double)row[i] * row[i];
    return sum;
}
