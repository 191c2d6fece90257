// Decoders of coded images for libheif. Its own ones (1.15) allocate what a file's bitstream asks for, however small
// the image is by the file's header, and leak decoded images that they cannot describe.

#ifndef LOOKALIKE_HEIF_DECODERS_H
#define LOOKALIKE_HEIF_DECODERS_H

#include <libheif/heif.h>
#include <libheif/heif_plugin.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// The name by which decoding options ask for them.
#define LK_HEIF_DECODERS "lookalike"

// A call that decodes a file, and the most pixels that each of its coded images may have.
typedef struct lk_heif_call {
    uint64_t most_pixels;
    struct lk_heif_call *next;
} lk_heif_call;

// Registers the decoders when they are first needed.
void lk_heif_begin_call(lk_heif_call *call);
void lk_heif_end_call(lk_heif_call *call);

// The limit of a coded image, on any thread: libheif decodes tiles on threads of its own, which know nothing of the
// call. The largest of the calls under way.
uint64_t lk_heif_most_pixels(void);

// What a decoder found. Planes that are missing have no address; samples of more than 8 bits take two bytes.
typedef struct {
    enum heif_chroma chroma;
    const uint8_t *planes[3];
    ptrdiff_t strides[3];
    int width;
    int height;
    int depth;
    // Code points of ISO/IEC 23091-2.
    int primaries;
    int transfer;
    int matrix;
    bool is_full_range;
} lk_coded_image;

// A copy for libheif, or an error and no image.
struct heif_error lk_heif_copy_image(const lk_coded_image *coded, struct heif_image **image);

struct heif_error lk_heif_decoder_error(const char *reason);
struct heif_error lk_heif_size_error(void);
extern const struct heif_error lk_heif_success;

extern const struct heif_decoder_plugin lk_heif_av1_decoder;
extern const struct heif_decoder_plugin lk_heif_hevc_decoder;

#endif
