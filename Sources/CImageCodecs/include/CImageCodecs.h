// Image libraries behind functions that return instead of jumping: libpng and libjpeg-turbo report errors through
// setjmp, which Swift cannot call. The functions of an optional library are defined if its trait is enabled.

#ifndef LOOKALIKE_CIMAGECODECS_H
#define LOOKALIKE_CIMAGECODECS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { LK_CODEC_MESSAGE_LENGTH = 256 };

typedef struct {
    uint32_t width;
    uint32_t height;
    uint32_t channels;  // decoded ones: 1 gray, 2 gray + alpha, 3 RGB, 4 RGB + alpha or CMYK
    bool is_cmyk;
    bool is_inverted;       // Adobe's CMYK files store 255 for no ink
    bool is_premultiplied;  // colors are multiplied with alpha
    bool is_unsupported;    // the file is sound, but of a kind that the library does not read
    uint16_t orientation;   // EXIF, 1...8
    uint32_t scans;         // in the file; 1 where the decoder reads the pixels in one go
    // Bytes that decoding allocates beside the pixels, such as the coefficients of a JPEG file with several scans.
    uint64_t working_bytes;
    // The colors, where the reader finds them: in HEIF and TIFF files. The caller reads those of other formats.
    const uint8_t *profile;  // an ICC profile, which belongs to the reader, or NULL
    size_t profile_count;
    const char *note;      // what is odd about the file, a constant phrase; NULL for nothing
    bool has_code_points;  // whether primaries and transfer are set
    uint16_t primaries;    // ITU-T H.273, table 2
    uint16_t transfer;     // ITU-T H.273, table 3
} lk_image_header;

// A function that fails returns false or NULL, with a reason in `message` (LK_CODEC_MESSAGE_LENGTH bytes).
//
// A reader is opened with the header of its file, decodes the pixels at most once, and is closed. The bytes of the file
// stay in use until then. `pixels` holds height * stride bytes. The messages of opening and decoding may differ.

typedef struct lk_png_reader lk_png_reader;

lk_png_reader *lk_png_open(const uint8_t *bytes, size_t count, lk_image_header *header, char *message);
bool lk_png_decode(lk_png_reader *reader, uint8_t *pixels, size_t stride, char *message);
// What was missing although all pixels are there, as in the header; after decoding.
const char *lk_png_note(const lk_png_reader *reader);
void lk_png_close(lk_png_reader *reader);

bool lk_jpeg_read_header(const uint8_t *bytes, size_t count, lk_image_header *header, char *message);

// The size of the image decoded at `eighths` / 8 of its full size.
bool lk_jpeg_scaled_header(const uint8_t *bytes, size_t count, uint32_t eighths, lk_image_header *header,
                           char *message);

// Decodes a JPEG file at the size of `header`; fails at scan `maximum_scans` + 1. `note` becomes what was missing
// although all pixels are there, as in the header.
bool lk_jpeg_decode(const uint8_t *bytes, size_t count, uint32_t eighths, const lk_image_header *header,
                    uint32_t maximum_scans, uint8_t *pixels, size_t stride, const char **note, char *message);

// The Orientation tag of an EXIF block, which is a TIFF file; 1 if the block has none.
uint16_t lk_exif_orientation(const uint8_t *bytes, size_t count);

// Inflates a zlib stream. Returns the number of bytes, 0 if the stream is damaged, ends early or has more than
// `capacity`.
size_t lk_inflate(const uint8_t *bytes, size_t count, uint8_t *out, size_t capacity);

// Reads the header of a WebP file, or of the data of one frame of an animation.
bool lk_webp_read_header(const uint8_t *bytes, size_t count, lk_image_header *header, char *message);

// Decodes a WebP file to the channels of `header`, at its size, which is that of the file or smaller.
bool lk_webp_decode(const uint8_t *bytes, size_t count, const lk_image_header *header, uint8_t *pixels, size_t stride,
                    char *message);

typedef struct lk_heif_reader lk_heif_reader;

// Opens the primary image, with its own rotation, mirroring and cropping applied. With a needed size that is not zero,
// a thumbnail of the same shape is read that has 1.5 times as many pixels along both sides, and alpha if the image has
// it; the header is then that of the thumbnail. `full_width` and `full_height` are those of the primary image.
lk_heif_reader *lk_heif_open(const uint8_t *bytes, size_t count, uint32_t needed_width, uint32_t needed_height,
                             lk_image_header *header, uint32_t *full_width, uint32_t *full_height, char *message);
// Decodes to rows without gaps. Only now the size is certain: it may be the header's with its sides exchanged.
bool lk_heif_decode(lk_heif_reader *reader, uint8_t *pixels, char *message);
void lk_heif_decoded_size(const lk_heif_reader *reader, uint32_t *width, uint32_t *height);
void lk_heif_close(lk_heif_reader *reader);

// The bytes of a picture that a NAL unit of HEVC announces, with samples of two bytes if they have more than 8 bits; 0
// unless the unit is a sequence parameter set. Returns false if it is one that ends too early or is out of range.
bool lk_hevc_picture_bytes(const uint8_t *unit, size_t count, uint64_t *bytes);

typedef struct lk_gif_reader lk_gif_reader;

// Opens the first frame on its canvas.
lk_gif_reader *lk_gif_open(const uint8_t *bytes, size_t count, lk_image_header *header, char *message);
bool lk_gif_decode(lk_gif_reader *reader, uint8_t *pixels, size_t stride, char *message);
void lk_gif_close(lk_gif_reader *reader);

typedef struct lk_tiff_reader lk_tiff_reader;

// Opens the first page that is no preview of another one. No allocation of libtiff's is larger than `maximum_memory`.
lk_tiff_reader *lk_tiff_open(const uint8_t *bytes, size_t count, size_t maximum_memory, lk_image_header *header,
                             char *message);
bool lk_tiff_decode(lk_tiff_reader *reader, uint8_t *pixels, size_t stride, char *message);
void lk_tiff_close(lk_tiff_reader *reader);

// Converts pixels to 8-bit sRGB through an ICC profile, in place. `channels` is 3 or 4 for RGB, whose fourth byte stays
// as it is; 4 for CMYK, which is then packed to RGB. `is_inverted`: 255 is no ink.
bool lk_convert_profile(const uint8_t *profile, size_t profile_count, uint8_t *pixels, uint32_t width, uint32_t height,
                        uint32_t channels, bool is_cmyk, bool is_inverted, char *message);

// Encodes 8-bit gray (1), RGB (3) or RGBA (4) as a PNG file; the caller frees `*file`.
bool lk_png_encode(const uint8_t *pixels, uint32_t width, uint32_t height, uint32_t channels, size_t stride,
                   uint8_t **file, size_t *count, char *message);

// Encodes 8-bit gray (1) or RGB (3) as a baseline JPEG file; the caller frees `*file`.
bool lk_jpeg_encode(const uint8_t *pixels, uint32_t width, uint32_t height, uint32_t channels, size_t stride,
                    int quality, uint8_t **file, size_t *count, char *message);

#endif
