// AV1 with dav1d. It refuses a frame above its limit before it allocates it, and asks here for the memory of each.

#ifdef LK_HEIF

#include <dav1d/dav1d.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "decoders.h"

typedef struct {
    Dav1dContext *context;
    // The data that dav1d has not consumed yet.
    Dav1dData data;
    // The bytes that further pictures may take. Memory that is given back does not count: hidden frames cost time, too.
    uint64_t budget;
    bool is_over_budget;
    bool is_strict;
} av1_decoder;

// There are the picture, one of fewer layers before it, and one with film grain.
enum { MOST_PICTURES = 3, SIDE_UNIT = 128 };

static const char *name(void) { return "Lookalike: AV1"; }

static int priority(enum heif_compression_format format) {
    return format == heif_compression_AV1 ? lk_heif_priority() : 0;
}

// Allocates what dav1d asks for in its picture.h: sides in whole units, addresses and strides that are aligned, and
// padding.
static int allocate(Dav1dPicture *picture, void *cookie) {
    av1_decoder *av1 = cookie;
    const enum Dav1dPixelLayout layout = picture->p.layout;
    const int sample = picture->p.bpc > 8 ? 2 : 1;
    const bool has_chroma = layout != DAV1D_PIXEL_LAYOUT_I400;
    // Strides of powers of two would put rows into the same places of the cache.
    const uint64_t width = lk_heif_whole_side(picture->p.w, SIDE_UNIT) * sample;
    const uint64_t height = lk_heif_whole_side(picture->p.h, SIDE_UNIT);
    const uint64_t stride = width + DAV1D_PICTURE_ALIGNMENT;
    const uint64_t chroma_stride = layout == DAV1D_PIXEL_LAYOUT_I444 ? stride : width / 2 + DAV1D_PICTURE_ALIGNMENT;
    const uint64_t luma = stride * height;
    const uint64_t chroma = has_chroma ? chroma_stride * (layout == DAV1D_PIXEL_LAYOUT_I420 ? height / 2 : height) : 0;
    const uint64_t bytes = luma + 2 * chroma + DAV1D_PICTURE_ALIGNMENT;
    if (bytes > av1->budget) {
        av1->is_over_budget = true;
        return DAV1D_ERR(ENOMEM);
    }
    av1->budget -= bytes;
    uint8_t *memory = aligned_alloc(DAV1D_PICTURE_ALIGNMENT, bytes);
    if (!memory) return DAV1D_ERR(ENOMEM);
    picture->allocator_data = memory;
    picture->stride[0] = (ptrdiff_t)stride;
    picture->stride[1] = has_chroma ? (ptrdiff_t)chroma_stride : 0;
    picture->data[0] = memory;
    picture->data[1] = has_chroma ? memory + luma : NULL;
    picture->data[2] = has_chroma ? memory + luma + chroma : NULL;
    return 0;
}

static void release(Dav1dPicture *picture, void *cookie) {
    (void)cookie;
    free(picture->allocator_data);
}

static struct heif_error open_decoder(void **decoder) {
    av1_decoder *av1 = calloc(1, sizeof *av1);
    if (!av1) return lk_heif_decoder_error("out of memory");
    const uint64_t most_bytes = lk_heif_most_bytes();
    av1->budget = MOST_PICTURES * most_bytes;
    Dav1dSettings settings;
    dav1d_default_settings(&settings);
    settings.allocator = (Dav1dPicAllocator){av1, allocate, release};
    // The limit counts pixels, which have three samples at most. To dav1d, 0 is no limit.
    const uint64_t most_pixels = most_bytes / 3;
    settings.frame_size_limit = most_pixels == 0 ? 1 : most_pixels > UINT_MAX ? UINT_MAX : (unsigned)most_pixels;
    settings.all_layers = 0;
    // A file has one frame.
    settings.max_frame_delay = 1;
    // Messages would go to standard error.
    settings.logger.callback = NULL;
    if (dav1d_open(&av1->context, &settings) < 0) {
        free(av1);
        return lk_heif_decoder_error("out of memory");
    }
    *decoder = av1;
    return lk_heif_success;
}

static void close_decoder(void *decoder) {
    av1_decoder *av1 = decoder;
    if (av1->data.data) dav1d_data_unref(&av1->data);
    dav1d_close(&av1->context);
    free(av1);
}

static struct heif_error push(void *decoder, const void *bytes, size_t count) {
    av1_decoder *av1 = decoder;
    if (count == 0) return lk_heif_decoder_error("it has no data");
    if (av1->data.data) return lk_heif_decoder_error("its data is in several parts");
    uint8_t *copy = dav1d_data_create(&av1->data, count);
    if (!copy) return lk_heif_decoder_error("out of memory");
    memcpy(copy, bytes, count);
    return lk_heif_success;
}

// Decodes the first picture. Returns 0, or the error of dav1d.
static int decode_picture(av1_decoder *av1, Dav1dPicture *picture) {
    for (;;) {
        const bool has_data = av1->data.sz > 0;
        if (has_data) {
            const int result = dav1d_send_data(av1->context, &av1->data);
            if (result < 0 && result != DAV1D_ERR(EAGAIN)) return result;
        }
        const int result = dav1d_get_picture(av1->context, picture);
        // Without more data there will be no picture.
        if (result != DAV1D_ERR(EAGAIN) || !has_data) return result;
    }
}

static struct heif_error decode(void *decoder, struct heif_image **image) {
    av1_decoder *av1 = decoder;
    Dav1dPicture picture;
    memset(&picture, 0, sizeof picture);
    const int result = decode_picture(av1, &picture);
    if (result == DAV1D_ERR(ERANGE) || (result < 0 && av1->is_over_budget)) return lk_heif_size_error();
    if (result < 0) return lk_heif_decoder_error("its AV1 data is damaged");
    static const enum heif_chroma chromas[] = {[DAV1D_PIXEL_LAYOUT_I400] = heif_chroma_monochrome,
                                               [DAV1D_PIXEL_LAYOUT_I420] = heif_chroma_420,
                                               [DAV1D_PIXEL_LAYOUT_I422] = heif_chroma_422,
                                               [DAV1D_PIXEL_LAYOUT_I444] = heif_chroma_444};
    lk_coded_image coded = {.chroma = chromas[picture.p.layout],
                            .width = picture.p.w,
                            .height = picture.p.h,
                            .depth = picture.p.bpc,
                            .primaries = (int)picture.seq_hdr->pri,
                            .transfer = (int)picture.seq_hdr->trc,
                            .matrix = (int)picture.seq_hdr->mtrx,
                            .is_full_range = picture.seq_hdr->color_range != 0};
    const int planes = picture.p.layout == DAV1D_PIXEL_LAYOUT_I400 ? 1 : 3;
    for (int i = 0; i < planes; i++) {
        coded.planes[i] = picture.data[i];
        coded.strides[i] = picture.stride[i > 0];
    }
    const struct heif_error error = lk_heif_copy_image(&coded, av1->is_strict, image);
    dav1d_picture_unref(&picture);
    return error;
}

static void set_strict(void *decoder, int is_strict) { ((av1_decoder *)decoder)->is_strict = is_strict; }

const struct heif_decoder_plugin lk_heif_av1_decoder = {.plugin_api_version = 3,
                                                        .get_plugin_name = name,
                                                        .does_support_format = priority,
                                                        .new_decoder = open_decoder,
                                                        .free_decoder = close_decoder,
                                                        .push_data = push,
                                                        .decode_image = decode,
                                                        .set_strict_decoding = set_strict,
                                                        .id_name = LK_HEIF_DECODERS};

#endif
