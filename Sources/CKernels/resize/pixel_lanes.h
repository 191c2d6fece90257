// Short vectors of 16- and 32-bit sums, a pixel or several at a time.

typedef uint16_t u16x4 __attribute__((vector_size(8)));
typedef uint16_t u16x8 __attribute__((vector_size(16)));
typedef uint16_t u16x16 __attribute__((vector_size(32)));
typedef uint16_t u16x32 __attribute__((vector_size(64)));
typedef uint32_t u32x4 __attribute__((vector_size(16)));

LK_INLINE u16x4 load_pixel(const uint16_t *line) {
    u16x4 pixel;
    memcpy(&pixel, line, sizeof pixel);
    return pixel;
}
