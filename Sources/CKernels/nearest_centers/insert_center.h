// Keeps the few best of many scored centers, best first; of equal scores the one that came first.

#ifndef LOOKALIKE_INSERT_CENTER_H
#define LOOKALIKE_INSERT_CENTER_H

#include <math.h>

#include "CKernels.h"

static inline float lk_lowest_score(const lk_nearest_centers *nearest) {
    return nearest->count < nearest->capacity ? -INFINITY : nearest->scores[nearest->capacity - 1];
}

static inline void lk_insert_center(lk_nearest_centers *nearest, int32_t index, float score) {
    int32_t place = nearest->count < nearest->capacity ? nearest->count++ : nearest->capacity - 1;
    for (; place > 0 && nearest->scores[place - 1] < score; place--) {
        nearest->scores[place] = nearest->scores[place - 1];
        nearest->indices[place] = nearest->indices[place - 1];
    }
    nearest->scores[place] = score;
    nearest->indices[place] = index;
}

#endif
