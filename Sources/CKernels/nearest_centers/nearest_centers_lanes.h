// The nearest cluster centers from int8 dot products, sixteen at a time.

#include "insert_center.h"

void KERNEL(offer_centers)(const int32_t *dots, int32_t offset, float scale, const float *half_squared_norms,
                           size_t count, int32_t first, lk_nearest_centers *nearest) {
    lk_i32x16 offsets;
    for (int lane = 0; lane < 16; lane++) offsets[lane] = offset;
    float lowest = lk_lowest_score(nearest);
    for (size_t i = 0; i < count; i += 16) {
        lk_i32x16 dot;
        memcpy(&dot, dots + i, sizeof dot);
        // Two statements, so that no target fuses them and all round alike.
        const lk_f32x16 product = __builtin_convertvector(dot - offsets, lk_f32x16) * lk_splat16(scale);
        const lk_f32x16 score = product - lk_load16(half_squared_norms + i);
        uint16_t lanes = lk_lanes(score > lk_splat16(lowest));
        if (!lanes) continue;
        float scores[16];
        memcpy(scores, &score, sizeof scores);
        for (; lanes; lanes &= lanes - 1) {
            const int32_t lane = __builtin_ctz(lanes);
            if (!(scores[lane] > lowest)) continue;
            lk_insert_center(nearest, first + (int32_t)i + lane, scores[lane]);
            lowest = lk_lowest_score(nearest);
        }
    }
}
