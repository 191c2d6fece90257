// Decoders of coded images for libheif. The decoders of libheif itself (1.15) allocate what a file's bitstream asks
// for, however small the image is by the file's header, and leak decoded images that they cannot describe.

#ifndef LOOKALIKE_HEIF_DECODERS_H
#define LOOKALIKE_HEIF_DECODERS_H

#include <libheif/heif.h>
#include <libheif/heif_plugin.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// The name by which decoding options ask for these decoders.
#define LK_HEIF_DECODERS "lookalike"

// A call that decodes a file, and the most bytes that a picture of each of its coded images may take.
typedef struct lk_heif_call {
    uint64_t most_bytes;
    struct lk_heif_call *next;
    struct lk_heif_call *outer;
} lk_heif_call;

// A side rounded up to a multiple of `unit`; at least one unit.
static inline uint64_t lk_heif_whole_side(int side, uint64_t unit) {
    return side > 0 ? ((uint64_t)side + unit - 1) / unit * unit : unit;
}

// Makes libheif use the decoders for a file. False if it does not know decoders of their kind.
bool lk_heif_use_decoders(struct heif_context *context);

void lk_heif_begin_call(lk_heif_call *call);
void lk_heif_end_call(lk_heif_call *call);

// The limit of a coded image is that of the call on this thread. libheif decodes tiles on threads of its own, which
// know nothing of the call; they get the largest limit of the calls under way.
uint64_t lk_heif_most_bytes(void);

// The picture that a decoder found. Planes that are missing have no address; samples of more than 8 bits take two
// bytes.
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

// A copy for libheif, or an error and no image. Code points that libheif does not know are an error if `is_strict`.
struct heif_error lk_heif_copy_image(const lk_coded_image *coded, bool is_strict, struct heif_image **image);

struct heif_error lk_heif_decoder_error(const char *reason);
struct heif_error lk_heif_size_error(void);
extern const struct heif_error lk_heif_success;

extern const struct heif_decoder_plugin lk_heif_av1_decoder;
extern const struct heif_decoder_plugin lk_heif_hevc_decoder;

// The priority of both decoders. libheif's own decoders have 200 at most.
int lk_heif_priority(void);

#endif
