// Bilinear samples of a row through a projective transform.

void RESIZE(sample)(const float *pixels, int32_t width, int32_t height, const lk_projection *projection, int32_t row,
                    int32_t count, float *out) {
    const lk_f32x16 lanes = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};
    const lk_projection *p = projection;
    const float y = (float)row;
    for (int32_t first = 0; first < count; first += 16) {
        const lk_f32x16 x = lanes + (float)first;
        const lk_f32x16 w = 1 / (p->m[6] * x + (p->m[7] * y + p->m[8]));
        lk_f32x16 px = (p->m[0] * x + (p->m[1] * y + p->m[2])) * w;
        lk_f32x16 py = (p->m[3] * x + (p->m[4] * y + p->m[5])) * w;
        px = __builtin_elementwise_min(__builtin_elementwise_max(px, lk_splat16(0)), lk_splat16((float)(width - 1)));
        py = __builtin_elementwise_min(__builtin_elementwise_max(py, lk_splat16(0)), lk_splat16((float)(height - 1)));
        const lk_i32x16 left = __builtin_convertvector(px, lk_i32x16), top = __builtin_convertvector(py, lk_i32x16);
        const lk_f32x16 fx = px - __builtin_convertvector(left, lk_f32x16),
                        fy = py - __builtin_convertvector(top, lk_f32x16);
        const int32_t present = count - first < 16 ? count - first : 16;
        for (int32_t i = 0; i < present; i++) {
            const float *corner = pixels + ((ptrdiff_t)top[i] * width + left[i]) * 4;
            const ptrdiff_t right = left[i] + 1 < width ? 4 : 0, below = top[i] + 1 < height ? (ptrdiff_t)width * 4 : 0;
            lk_f32x4 a, b, c, d;
            memcpy(&a, corner, sizeof a);
            memcpy(&b, corner + right, sizeof b);
            memcpy(&c, corner + below, sizeof c);
            memcpy(&d, corner + below + right, sizeof d);
            const lk_f32x4 upper = a + (b - a) * fx[i], lower = c + (d - c) * fx[i];
            const lk_f32x4 value = upper + (lower - upper) * fy[i];
            memcpy(out + (ptrdiff_t)(first + i) * 4, &value, sizeof value);
        }
    }
}
