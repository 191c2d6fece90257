#include "insert_center.h"

void KERNEL(offer_centers)(const int32_t *dots, int32_t offset, float scale, const float *half_squared_norms,
                           size_t count, int32_t first, lk_nearest_centers *nearest) {
    for (size_t i = 0; i < count; i++) {
        const float product = (float)(dots[i] - offset) * scale;
        const float score = product - half_squared_norms[i];
        if (score > lk_lowest_score(nearest)) lk_insert_center(nearest, first + (int32_t)i, score);
    }
}
