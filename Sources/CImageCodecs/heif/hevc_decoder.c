// HEVC with libde265. It has no limit of its own, so parameter sets are read before it sees them.

#ifdef LK_HEIF

#include <libde265/de265.h>
#include <limits.h>

#include "CImageCodecs.h"
#include "decoders.h"

static const char *name(void) { return "Lookalike: HEVC"; }

static int priority(enum heif_compression_format format) {
    // The lowest: it is chosen where it is asked for.
    return format == heif_compression_HEVC ? 1 : 0;
}

static struct heif_error open_decoder(void **decoder) {
    *decoder = de265_new_decoder();
    if (!*decoder) return lk_heif_decoder_error("out of memory");
    // One beside this one; deblocking needs it.
    de265_start_worker_threads(*decoder, 1);
    return lk_heif_success;
}

static void close_decoder(void *decoder) { de265_free_decoder(decoder); }

// NAL units, each after its length in four bytes, most significant first.
static struct heif_error push(void *decoder, const void *bytes, size_t count) {
    const uint8_t *unit = bytes, *end = unit + count;
    while (unit < end) {
        if (end - unit < 4) return lk_heif_decoder_error("its HEVC data ends too early");
        const uint32_t length = (uint32_t)unit[0] << 24 | (uint32_t)unit[1] << 16 | (uint32_t)unit[2] << 8 | unit[3];
        unit += 4;
        if (length > end - unit || length > INT_MAX) return lk_heif_decoder_error("its HEVC data ends too early");
        uint64_t pixels = 0;
        if (!lk_hevc_picture_size(unit, length, &pixels)) return lk_heif_decoder_error("its HEVC header is damaged");
        if (pixels > lk_heif_most_pixels()) return lk_heif_size_error();
        const de265_error error = de265_push_NAL(decoder, unit, (int)length, 0, NULL);
        if (!de265_isOK(error)) return lk_heif_decoder_error(de265_get_error_text(error));
        unit += length;
    }
    return lk_heif_success;
}

static struct heif_error copy_picture(const struct de265_image *picture, struct heif_image **image) {
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
    return lk_heif_copy_image(&coded, image);
}

static struct heif_error decode(void *decoder, struct heif_image **image) {
    de265_error error = de265_flush_data(decoder);
    const struct de265_image *picture = NULL;
    for (int more = 1; more && !picture && error == DE265_OK;) {
        more = 0;
        error = de265_decode(decoder, &more);
        picture = de265_get_next_picture(decoder);
    }
    if (error != DE265_OK) return lk_heif_decoder_error(de265_get_error_text(error));
    if (!picture) return lk_heif_decoder_error("its HEVC data is damaged");
    const struct heif_error result = copy_picture(picture, image);
    de265_release_next_picture(decoder);
    return result;
}

static void set_strict(void *decoder, int is_strict) {
    // Always.
    (void)decoder;
    (void)is_strict;
}

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
