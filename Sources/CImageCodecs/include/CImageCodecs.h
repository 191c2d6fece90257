// libpng and libjpeg-turbo behind functions that return instead of jumping: both report errors
// through setjmp, which Swift cannot call.

#ifndef LOOKALIKE_CIMAGECODECS_H
#define LOOKALIKE_CIMAGECODECS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { LK_CODEC_MESSAGE_LENGTH = 256 };

typedef struct {
    uint32_t width;
    uint32_t height;
    uint32_t channels;  // of the decoded pixels: 1 gray, 2 gray + alpha, 3 RGB, 4 RGB + alpha or CMYK
    bool is_cmyk;
    bool is_inverted;      // Adobe's CMYK files store 255 for no ink
    uint16_t orientation;  // EXIF, 1...8
    uint32_t scans;        // of the file; 1 where the decoder reads the pixels in one go
    // Bytes that decoding allocates beside the pixels: the coefficients of a JPEG file with several scans.
    uint64_t working_bytes;
} lk_image_header;

// Each returns false with a reason in `message` (LK_CODEC_MESSAGE_LENGTH bytes).

// A PNG file whose header has been read. The bytes stay in use until it is closed.
typedef struct lk_png_reader lk_png_reader;

// Returns NULL with a reason in `message`.
lk_png_reader *lk_png_open(const uint8_t *bytes, size_t count, lk_image_header *header, char *message);

// `pixels` holds height * stride bytes. At most once per reader; `message` need not be that of `lk_png_open`.
bool lk_png_decode(lk_png_reader *reader, uint8_t *pixels, size_t stride, char *message);

void lk_png_close(lk_png_reader *reader);

bool lk_jpeg_read_header(const uint8_t *bytes, size_t count, lk_image_header *header, char *message);

// The size of the image decoded at `eighths` / 8 of its full size.
bool lk_jpeg_scaled_header(const uint8_t *bytes, size_t count, uint32_t eighths, lk_image_header *header,
                           char *message);

// Fails at scan `maximum_scans` + 1.
bool lk_jpeg_decode(const uint8_t *bytes, size_t count, uint32_t eighths, const lk_image_header *header,
                    uint32_t maximum_scans, uint8_t *pixels, size_t stride, char *message);

// 8-bit gray (1), RGB (3) or RGBA (4) as a PNG file; the caller frees `*file`.
bool lk_png_encode(const uint8_t *pixels, uint32_t width, uint32_t height, uint32_t channels, size_t stride,
                   uint8_t **file, size_t *count, char *message);

// 8-bit gray (1) or RGB (3) as a baseline JPEG file; the caller frees `*file`.
bool lk_jpeg_encode(const uint8_t *pixels, uint32_t width, uint32_t height, uint32_t channels, size_t stride,
                    int quality, uint8_t **file, size_t *count, char *message);

#endif
