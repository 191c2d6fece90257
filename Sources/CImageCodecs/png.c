#include <png.h>
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "CImageCodecs.h"

typedef struct {
    const uint8_t *bytes;
    size_t count;
    size_t position;
} source;

static void read_bytes(png_structp png, png_bytep out, size_t count) {
    source *from = png_get_io_ptr(png);
    if (count > from->count - from->position) png_error(png, "the file ends early");
    memcpy(out, from->bytes + from->position, count);
    from->position += count;
}

static void fail(png_structp png, png_const_charp reason) {
    snprintf(png_get_error_ptr(png), LK_CODEC_MESSAGE_LENGTH, "%s", reason);
    png_longjmp(png, 1);
}

static void ignore_warning(png_structp png, png_const_charp reason) {
    (void)png;
    (void)reason;
}

static png_structp create_reader(png_infop *info, char *message) {
    png_structp png = png_create_read_struct(PNG_LIBPNG_VER_STRING, message, fail, ignore_warning);
    *info = png ? png_create_info_struct(png) : NULL;
    if (*info) return png;
    snprintf(message, LK_CODEC_MESSAGE_LENGTH, "out of memory");
    png_destroy_read_struct(&png, NULL, NULL);
    return NULL;
}

// Sets the transformations up that lead to 8-bit gray, gray + alpha, RGB or RGBA.
static void begin(png_structp png, png_infop info, source *from) {
    png_set_read_fn(png, from, read_bytes);
    // A wrong checksum in an ancillary chunk (a text, a profile) harms no pixel.
    png_set_crc_action(png, PNG_CRC_ERROR_QUIT, PNG_CRC_WARN_DISCARD);
    // The caller's own limit on pixels comes after the header and before any allocation.
    png_set_user_limits(png, 0x7fffffff, 0x7fffffff);
    png_read_info(png, info);
    png_set_scale_16(png);
    png_set_expand(png);
}

bool lk_png_read_header(const uint8_t *bytes, size_t count, lk_image_header *header, char *message) {
    source from = {bytes, count, 0};
    png_infop info;
    png_structp png = create_reader(&info, message);
    if (!png) return false;
    if (setjmp(png_jmpbuf(png))) {
        png_destroy_read_struct(&png, &info, NULL);
        return false;
    }
    begin(png, info, &from);
    memset(header, 0, sizeof *header);
    header->width = png_get_image_width(png, info);
    header->height = png_get_image_height(png, info);
    header->orientation = 1;
    int color = png_get_color_type(png, info);
    bool alpha = (color & PNG_COLOR_MASK_ALPHA) || png_get_valid(png, info, PNG_INFO_tRNS);
    header->channels = ((color & PNG_COLOR_MASK_COLOR) ? 3 : 1) + (alpha ? 1 : 0);
    png_destroy_read_struct(&png, &info, NULL);
    return true;
}

bool lk_png_decode(const uint8_t *bytes, size_t count, const lk_image_header *header, uint8_t *pixels, size_t stride,
                   char *message) {
    source from = {bytes, count, 0};
    png_infop info;
    png_structp png = create_reader(&info, message);
    if (!png) return false;
    if (setjmp(png_jmpbuf(png))) {
        png_destroy_read_struct(&png, &info, NULL);
        return false;
    }
    begin(png, info, &from);
    int passes = png_set_interlace_handling(png);
    png_read_update_info(png, info);
    if (png_get_rowbytes(png, info) > stride || png_get_image_height(png, info) != header->height)
        png_error(png, "its header changed while it was read");
    for (int pass = 0; pass < passes; pass++)
        for (uint32_t row = 0; row < header->height; row++) png_read_row(png, pixels + (size_t)row * stride, NULL);
    png_read_end(png, NULL);
    png_destroy_read_struct(&png, &info, NULL);
    return true;
}

typedef struct {
    uint8_t *bytes;
    size_t count;
    size_t capacity;
} sink;

static void write_bytes(png_structp png, png_bytep bytes, size_t count) {
    sink *to = png_get_io_ptr(png);
    if (count > to->capacity - to->count) {
        size_t capacity = (to->count + count) * 2;
        uint8_t *grown = realloc(to->bytes, capacity);
        if (!grown) png_error(png, "out of memory");
        to->bytes = grown;
        to->capacity = capacity;
    }
    memcpy(to->bytes + to->count, bytes, count);
    to->count += count;
}

static void flush_nothing(png_structp png) { (void)png; }

bool lk_png_encode(const uint8_t *pixels, uint32_t width, uint32_t height, uint32_t channels, size_t stride,
                   uint8_t **file, size_t *count, char *message) {
    sink to = {0};
    png_structp png = png_create_write_struct(PNG_LIBPNG_VER_STRING, message, fail, ignore_warning);
    png_infop info = png ? png_create_info_struct(png) : NULL;
    if (!info) {
        snprintf(message, LK_CODEC_MESSAGE_LENGTH, "out of memory");
        png_destroy_write_struct(&png, NULL);
        return false;
    }
    png_set_write_fn(png, &to, write_bytes, flush_nothing);
    if (setjmp(png_jmpbuf(png))) {
        // `to` is only reached through the pointer that libpng keeps, so it is not in a register.
        sink *written = png_get_io_ptr(png);
        free(written->bytes);
        png_destroy_write_struct(&png, &info);
        return false;
    }
    int color = channels == 1 ? PNG_COLOR_TYPE_GRAY : channels == 3 ? PNG_COLOR_TYPE_RGB : PNG_COLOR_TYPE_RGB_ALPHA;
    png_set_IHDR(png, info, width, height, 8, color, PNG_INTERLACE_NONE, PNG_COMPRESSION_TYPE_DEFAULT,
                 PNG_FILTER_TYPE_DEFAULT);
    png_write_info(png, info);
    for (uint32_t row = 0; row < height; row++) png_write_row(png, pixels + (size_t)row * stride);
    png_write_end(png, info);
    png_destroy_write_struct(&png, &info);
    *file = to.bytes;
    *count = to.count;
    return true;
}
