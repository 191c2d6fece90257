// One version for all targets: it reads what a product of many times as many operations wrote.

#include "CKernels.h"
#include "vector.h"

size_t lk_select_rows(const float *products, size_t step, const float *squared_norms, size_t count, const float *limits,
                      uint32_t *found) {
    const lk_f32x16 limit = lk_load16(limits);
    size_t within = 0;
    for (size_t row = 0; row < count; row++) {
        const lk_i32x16 out = lk_load16(products + row * step) + squared_norms[row] > limit;
        if (!__builtin_reduce_and(out)) found[within++] = (uint32_t)row;
    }
    return within;
}
