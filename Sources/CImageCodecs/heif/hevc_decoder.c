// HEVC with libde265. It has no limit of its own, so NAL units are looked at before it sees them.

#ifdef LK_HEIF

#include <libde265/de265.h>
#include <limits.h>
#include <stdlib.h>

#include "CImageCodecs.h"
#include "decoders.h"

typedef struct {
    de265_decoder_context *context;
    // Of a picture, by the parameter sets so far.
    uint64_t picture_bytes;
    bool has_picture;
    bool is_strict;
} hevc_decoder;

// Types of NAL units; ITU-T H.265, table 7-1.
enum { FIRST_RANDOM_ACCESS = 16, FIRST_IDR = 19, LAST_IDR = 20, LAST_RANDOM_ACCESS = 21, FIRST_PARAMETER_SET = 32 };
// The decoded picture buffer and the picture itself; section A.4.
enum { MOST_REFERENCES = 17 };
// What such a buffer may take in any file.
static const uint64_t small_buffer = 64 << 20;

static const char *name(void) { return "Lookalike: HEVC"; }

static int priority(enum heif_compression_format format) {
    return format == heif_compression_HEVC ? lk_heif_priority() : 0;
}

static struct heif_error open_decoder(void **decoder) {
    hevc_decoder *hevc = calloc(1, sizeof *hevc);
    if (hevc) hevc->context = de265_new_decoder();
    if (!hevc || !hevc->context) {
        free(hevc);
        return lk_heif_decoder_error("out of memory");
    }
    // One beside this one; deblocking needs it.
    de265_start_worker_threads(hevc->context, 1);
    *decoder = hevc;
    return lk_heif_success;
}

static void close_decoder(void *decoder) {
    hevc_decoder *hevc = decoder;
    de265_free_decoder(hevc->context);
    free(hevc);
}

// A file has one picture, which refers to no other. Others cost memory and time that the header says nothing about.
static struct heif_error check_picture(hevc_decoder *hevc, int type, bool is_first_slice) {
    if (type < FIRST_RANDOM_ACCESS || type > LAST_RANDOM_ACCESS)
        return lk_heif_decoder_error("its HEVC data refers to other pictures");
    if (is_first_slice && hevc->has_picture) return lk_heif_decoder_error("its HEVC data has several pictures");
    hevc->has_picture = true;
    // Other random access points may name references, in whose place libde265 allocates gray pictures.
    const bool is_alone = type >= FIRST_IDR && type <= LAST_IDR;
    const uint64_t most_bytes = lk_heif_most_bytes();
    const uint64_t limit = most_bytes > small_buffer ? most_bytes : small_buffer;
    if (!is_alone && hevc->picture_bytes > limit / MOST_REFERENCES) return lk_heif_size_error();
    return lk_heif_success;
}

static struct heif_error push_unit(hevc_decoder *hevc, const uint8_t *unit, size_t count) {
    uint64_t bytes = 0;
    if (!lk_hevc_picture_bytes(unit, count, &bytes)) return lk_heif_decoder_error("its HEVC header is damaged");
    if (bytes > lk_heif_most_bytes()) return lk_heif_size_error();
    if (bytes > hevc->picture_bytes) hevc->picture_bytes = bytes;
    // Layers above the first are another format's, which libde265 leaves out.
    if (count >= 3 && (unit[0] & 1) == 0 && unit[1] >> 3 == 0) {
        const int type = unit[0] >> 1 & 63;
        const struct heif_error error =
            type < FIRST_PARAMETER_SET ? check_picture(hevc, type, unit[2] >> 7) : lk_heif_success;
        if (error.code != heif_error_Ok) return error;
    }
    const de265_error error = de265_push_NAL(hevc->context, unit, (int)count, 0, NULL);
    return de265_isOK(error) ? lk_heif_success : lk_heif_decoder_error(de265_get_error_text(error));
}

// NAL units, each after its length in four bytes, most significant first.
static struct heif_error push(void *decoder, const void *bytes, size_t count) {
    const uint8_t *unit = bytes, *end = unit + count;
    while (unit < end) {
        if (end - unit < 4) return lk_heif_decoder_error("its HEVC data ends too early");
        const uint32_t length = (uint32_t)unit[0] << 24 | (uint32_t)unit[1] << 16 | (uint32_t)unit[2] << 8 | unit[3];
        unit += 4;
        if (length > end - unit || length > INT_MAX) return lk_heif_decoder_error("its HEVC data ends too early");
        const struct heif_error error = push_unit(decoder, unit, length);
        if (error.code != heif_error_Ok) return error;
        unit += length;
    }
    return lk_heif_success;
}

static struct heif_error copy_picture(const struct de265_image *picture, bool is_strict, struct heif_image **image) {
    lk_coded_image coded = {.width = de265_get_image_width(picture, 0),
                            .height = de265_get_image_height(picture, 0),
                            .depth = de265_get_bits_per_pixel(picture, 0),
                            .primaries = de265_get_image_colour_primaries(picture),
                            .transfer = de265_get_image_transfer_characteristics(picture),
                            .matrix = de265_get_image_matrix_coefficients(picture),
                            .is_full_range = de265_get_image_full_range_flag(picture) != 0};
    switch (de265_get_chroma_format(picture)) {
    case de265_chroma_mono: coded.chroma = heif_chroma_monochrome; break;
    case de265_chroma_420: coded.chroma = heif_chroma_420; break;
    case de265_chroma_422: coded.chroma = heif_chroma_422; break;
    case de265_chroma_444: coded.chroma = heif_chroma_444; break;
    default: return lk_heif_decoder_error("its chroma format is unknown");
    }
    if (coded.width <= 0 || coded.height <= 0) return lk_heif_decoder_error("it has no pixels");
    for (int i = 0; i < (coded.chroma == heif_chroma_monochrome ? 1 : 3); i++) {
        if (de265_get_bits_per_pixel(picture, i) != coded.depth)
            return lk_heif_decoder_error("its chroma has another depth than its luma");
        int stride = 0;
        coded.planes[i] = de265_get_image_plane(picture, i, &stride);
        coded.strides[i] = stride;
        if (!coded.planes[i]) return lk_heif_decoder_error("it has no pixels");
    }
    return lk_heif_copy_image(&coded, is_strict, image);
}

static struct heif_error decode(void *decoder, struct heif_image **image) {
    hevc_decoder *hevc = decoder;
    de265_error error = de265_flush_data(hevc->context);
    const struct de265_image *picture = NULL;
    for (int more = 1; more && !picture && error == DE265_OK;) {
        more = 0;
        error = de265_decode(hevc->context, &more);
        picture = de265_get_next_picture(hevc->context);
    }
    if (error != DE265_OK) return lk_heif_decoder_error(de265_get_error_text(error));
    if (!picture) return lk_heif_decoder_error("its HEVC data is damaged");
    const struct heif_error result = copy_picture(picture, hevc->is_strict, image);
    de265_release_next_picture(hevc->context);
    return result;
}

static void set_strict(void *decoder, int is_strict) { ((hevc_decoder *)decoder)->is_strict = is_strict; }

const struct heif_decoder_plugin lk_heif_hevc_decoder = {.plugin_api_version = 3,
                                                         .get_plugin_name = name,
                                                         .does_support_format = priority,
                                                         .new_decoder = open_decoder,
                                                         .free_decoder = close_decoder,
                                                         .push_data = push,
                                                         .decode_image = decode,
                                                         .set_strict_decoding = set_strict,
                                                         .id_name = LK_HEIF_DECODERS};

#endif
