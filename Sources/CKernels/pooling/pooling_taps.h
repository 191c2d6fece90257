// Which taps of a pooling window lie on the map.

#ifndef LOOKALIKE_POOLING_TAPS_H
#define LOOKALIKE_POOLING_TAPS_H

#include "../kernel_tables.h"
#include "../vector.h"

// The first pixel of a window, which may lie outside the map, and its taps inside: [first, end).
typedef struct {
    int32_t top, left;
    int32_t y_first, y_end;
    int32_t x_first, x_end;
} lk_pooling_window;

// The taps of a window that lie inside `size`: [first, end).
LK_INLINE void taps_inside(int32_t start, int32_t dilation, int32_t kernel, int32_t size, int32_t *first,
                           int32_t *end) {
    const int32_t before = start < 0 ? -start : 0, until = start >= size ? 0 : size - start;
    // Divisions would take longer than a small window.
    *first = dilation == 1 ? before : (before + dilation - 1) / dilation;
    *end = dilation == 1 ? until : (until + dilation - 1) / dilation;
    if (*end > kernel) *end = kernel;
}

// The window of an output pixel.
LK_INLINE lk_pooling_window pooling_window(const lk_pooling *p, int32_t row, int32_t column) {
    lk_pooling_window w;
    w.top = row * p->stride_y - p->padding_top;
    w.left = column * p->stride_x - p->padding_left;
    taps_inside(w.top, p->dilation_y, p->kernel_height, p->input_height, &w.y_first, &w.y_end);
    taps_inside(w.left, p->dilation_x, p->kernel_width, p->input_width, &w.x_first, &w.x_end);
    return w;
}

// The taps of a window that a mean is divided by.
LK_INLINE int32_t counted_taps(const lk_pooling *p, const lk_pooling_window *w) {
    int32_t rows = w->y_end - w->y_first, columns = w->x_end - w->x_first;
    if (p->padding_counts) {
        int32_t first;
        taps_inside(w->top, p->dilation_y, p->kernel_height, p->input_height + p->padding_bottom, &first, &rows);
        taps_inside(w->left, p->dilation_x, p->kernel_width, p->input_width + p->padding_right, &first, &columns);
    }
    return rows * columns;
}

// How far a tap's pixel of a block is from the map's pixel (0, 0).
LK_INLINE ptrdiff_t tap_offset(const lk_pooling *p, const lk_pooling_window *w, int32_t y, int32_t x) {
    return (ptrdiff_t)(w->top + y * p->dilation_y) * p->input_row_stride +
           (ptrdiff_t)(w->left + x * p->dilation_x) * LK_CHANNEL_BLOCK;
}

#endif
