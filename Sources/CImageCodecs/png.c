// libpng, and zlib for the chunks that libpng skips.

#include <limits.h>
#include <png.h>
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "CImageCodecs.h"

typedef struct {
    const uint8_t *bytes;
    size_t count;
    size_t position;
    bool has_ended_early;
} source;

static void read_bytes(png_structp png, png_bytep out, size_t count) {
    source *from = png_get_io_ptr(png);
    if (count > from->count - from->position) {
        from->has_ended_early = true;
        png_error(png, "the file ends early");
    }
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

struct lk_png_reader {
    source from;
    png_structp png;
    png_infop info;
};

// Sets the transformations up that lead to 8-bit gray, gray + alpha, RGB or RGBA.
static void begin(lk_png_reader *reader) {
    png_structp png = reader->png;
    png_set_read_fn(png, &reader->from, read_bytes);
    // A wrong checksum in an ancillary chunk (a text, a profile) harms no pixel.
    png_set_crc_action(png, PNG_CRC_ERROR_QUIT, PNG_CRC_WARN_DISCARD);
    // Skips all chunks but IHDR, PLTE, tRNS, IDAT and IEND. Compressed texts and profiles may be a thousand times as
    // large as the file, and say nothing about the pixels.
    png_set_keep_unknown_chunks(png, PNG_HANDLE_CHUNK_NEVER, NULL, -1);
    // Skipped chunks may have any length.
    png_set_chunk_malloc_max(png, 0);
    // The caller's own limits come after the header and before any allocation.
    png_set_user_limits(png, 0x7fffffff, 0x7fffffff);
    png_read_info(png, reader->info);
    png_set_scale_16(png);
    png_set_expand(png);
}

void lk_png_close(lk_png_reader *reader) {
    if (!reader) return;
    png_destroy_read_struct(&reader->png, &reader->info, NULL);
    free(reader);
}

lk_png_reader *lk_png_open(const uint8_t *bytes, size_t count, lk_image_header *header, char *message) {
    lk_png_reader *reader = calloc(1, sizeof *reader);
    if (reader) {
        reader->from = (source){bytes, count, 0, false};
        reader->png = png_create_read_struct(PNG_LIBPNG_VER_STRING, message, fail, ignore_warning);
        reader->info = reader->png ? png_create_info_struct(reader->png) : NULL;
    }
    if (!reader || !reader->info) {
        snprintf(message, LK_CODEC_MESSAGE_LENGTH, "out of memory");
        lk_png_close(reader);
        return NULL;
    }
    if (setjmp(png_jmpbuf(reader->png))) {
        lk_png_close(reader);
        return NULL;
    }
    begin(reader);
    memset(header, 0, sizeof *header);
    header->width = png_get_image_width(reader->png, reader->info);
    header->height = png_get_image_height(reader->png, reader->info);
    header->orientation = 1;
    header->scans = 1;
    int color = png_get_color_type(reader->png, reader->info);
    bool alpha = (color & PNG_COLOR_MASK_ALPHA) || png_get_valid(reader->png, reader->info, PNG_INFO_tRNS);
    header->channels = ((color & PNG_COLOR_MASK_COLOR) ? 3 : 1) + (alpha ? 1 : 0);
    return reader;
}

bool lk_png_decode(lk_png_reader *reader, uint8_t *pixels, size_t stride, char *message) {
    png_structp png = reader->png;
    png_set_error_fn(png, message, fail, ignore_warning);
    if (setjmp(png_jmpbuf(png))) return false;
    int passes = png_set_interlace_handling(png);
    png_read_update_info(png, reader->info);
    if (png_get_rowbytes(png, reader->info) > stride) png_error(png, "its rows are longer than its header says");
    uint32_t height = png_get_image_height(png, reader->info);
    for (int pass = 0; pass < passes; pass++)
        for (uint32_t row = 0; row < height; row++) png_read_row(png, pixels + (size_t)row * stride, NULL);
    // All pixels are there: what follows them may be cut off.
    if (setjmp(png_jmpbuf(png))) return reader->from.has_ended_early;
    png_read_end(png, NULL);
    return true;
}

const char *lk_png_note(const lk_png_reader *reader) {
    return reader->from.has_ended_early ? "its end is missing" : NULL;
}

size_t lk_inflate(const uint8_t *bytes, size_t count, uint8_t *out, size_t capacity) {
    if (count > UINT_MAX || capacity > UINT_MAX) return 0;
    z_stream stream = {
        .next_in = (Bytef *)bytes, .avail_in = (uInt)count, .next_out = out, .avail_out = (uInt)capacity};
    if (inflateInit(&stream) != Z_OK) return 0;
    int status = inflate(&stream, Z_FINISH);
    size_t produced = stream.total_out;
    inflateEnd(&stream);
    return status == Z_STREAM_END ? produced : 0;
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
