// The box filter's vertical sums: rows of bytes to a row of 16-bit sums.

typedef uint8_t u8x64 __attribute__((vector_size(64)));
typedef uint16_t u16x64 __attribute__((vector_size(128)));

// Prefetch distance in bytes; measured.
enum { AHEAD = 2048 };

LK_INLINE u16x64 widened(const uint8_t *bytes) {
    u8x64 line;
    memcpy(&line, bytes, sizeof line);
    __builtin_prefetch(bytes + AHEAD);
    return __builtin_convertvector(line, u16x64);
}

// Adds up to three neighboring rows to `out`, or writes their sum to it if `begins`.
LK_INLINE void add_rows(const uint8_t *source, ptrdiff_t stride, const int rows, const int begins, size_t bytes,
                        uint16_t *out) {
    size_t j = 0;
    for (; j + 64 <= bytes; j += 64) {
        u16x64 sum = widened(source + j);
        if (rows > 1) sum += widened(source + stride + j);
        if (rows > 2) sum += widened(source + 2 * stride + j);
        if (!begins) {
            u16x64 before;
            memcpy(&before, out + j, sizeof before);
            sum += before;
        }
        memcpy(out + j, &sum, sizeof sum);
    }
    for (; j < bytes; j++) {
        uint16_t sum = begins ? 0 : out[j];
        for (int i = 0; i < rows; i++) sum += source[i * stride + j];
        out[j] = sum;
    }
}

// Three whole rows at a time: the prefetchers follow that many streams at full memory bandwidth, and the sums stay in
// cache.
void RESIZE(sum_rows)(const uint8_t *source, ptrdiff_t stride, int32_t rows, size_t bytes, uint16_t *out) {
    int32_t i = rows < 3 ? rows : 3;
    if (i == 3) add_rows(source, stride, 3, 1, bytes, out);
    else if (i == 2) add_rows(source, stride, 2, 1, bytes, out);
    else add_rows(source, stride, 1, 1, bytes, out);
    for (; i + 3 <= rows; i += 3) add_rows(source + i * stride, stride, 3, 0, bytes, out);
    if (rows - i == 2) add_rows(source + i * stride, stride, 2, 0, bytes, out);
    else if (rows - i == 1) add_rows(source + i * stride, stride, 1, 0, bytes, out);
}
