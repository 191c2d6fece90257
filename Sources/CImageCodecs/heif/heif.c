// libheif: HEIC and AVIF.

#ifdef LK_HEIF

#include <libheif/heif.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "CImageCodecs.h"
#include "decoders.h"

struct lk_heif_reader {
    struct heif_context *context;
    struct heif_image_handle *handle;
    uint8_t *profile;
    uint32_t width;
    uint32_t height;
    uint32_t channels;
};

static bool is_fine(struct heif_error error, char *message) {
    if (error.code == heif_error_Ok) return true;
    // libheif's own text would repeat that of our decoder behind “Security limit exceeded”.
    const bool is_too_large =
        error.code == heif_error_Decoder_plugin_error && error.subcode == heif_suberror_Security_limit_exceeded;
    const char *reason = is_too_large ? lk_heif_size_error().message : error.message;
    snprintf(message, LK_CODEC_MESSAGE_LENGTH, "%s", reason ? reason : "libheif gave no reason");
    // Some texts of libheif end with a line break.
    message[strcspn(message, "\n")] = 0;
    return false;
}

void lk_heif_close(lk_heif_reader *reader) {
    if (!reader) return;
    if (reader->handle) heif_image_handle_release(reader->handle);
    if (reader->context) heif_context_free(reader->context);
    free(reader->profile);
    free(reader);
}

// Reads an ICC profile, or code points. A file may have both; the profile is then the one to use (ISO/IEC 23008-12).
static void read_colors(lk_heif_reader *reader, lk_image_header *header) {
    size_t count = heif_image_handle_get_raw_color_profile_size(reader->handle);
    reader->profile = count ? malloc(count) : NULL;
    if (reader->profile &&
        heif_image_handle_get_raw_color_profile(reader->handle, reader->profile).code == heif_error_Ok) {
        header->profile = reader->profile;
        header->profile_count = count;
        return;
    }
    struct heif_color_profile_nclx *nclx = NULL;
    if (heif_image_handle_get_nclx_color_profile(reader->handle, &nclx).code != heif_error_Ok || !nclx) return;
    header->has_code_points = true;
    header->primaries = (uint16_t)nclx->color_primaries;
    header->transfer = (uint16_t)nclx->transfer_characteristics;
    heif_nclx_color_profile_free(nclx);
}

// Replaces the image's handle by that of the smallest thumbnail that is large enough, has the same shape, and has alpha
// where the image has it.
static void choose_thumbnail(lk_heif_reader *reader, uint32_t needed_width, uint32_t needed_height) {
    heif_item_id ids[16];
    int count = heif_image_handle_get_list_of_thumbnail_IDs(reader->handle, ids, 16);
    struct heif_image_handle *best = NULL;
    const int has_alpha = heif_image_handle_has_alpha_channel(reader->handle);
    const int is_premultiplied = heif_image_handle_is_premultiplied_alpha(reader->handle);
    double width = heif_image_handle_get_width(reader->handle), height = heif_image_handle_get_height(reader->handle);
    for (int i = 0; i < count; i++) {
        struct heif_image_handle *thumbnail = NULL;
        if (heif_image_handle_get_thumbnail(reader->handle, ids[i], &thumbnail).code != heif_error_Ok) continue;
        double across = heif_image_handle_get_width(thumbnail), down = heif_image_handle_get_height(thumbnail);
        bool is_large = across * 2 >= needed_width * 3.0 && down * 2 >= needed_height * 3.0;
        // Within a pixel of rounding.
        double skew = across * height - down * width;
        bool is_alike = skew <= (width > height ? width : height) && -skew <= (width > height ? width : height);
        bool has_same_alpha = heif_image_handle_has_alpha_channel(thumbnail) == has_alpha &&
                              heif_image_handle_is_premultiplied_alpha(thumbnail) == is_premultiplied;
        bool is_smaller = across < (best ? heif_image_handle_get_width(best) : width);
        if (is_large && is_alike && has_same_alpha && is_smaller) {
            if (best) heif_image_handle_release(best);
            best = thumbnail;
        } else {
            heif_image_handle_release(thumbnail);
        }
    }
    if (!best) return;
    heif_image_handle_release(reader->handle);
    reader->handle = best;
}

lk_heif_reader *lk_heif_open(const uint8_t *bytes, size_t count, uint32_t needed_width, uint32_t needed_height,
                             lk_image_header *header, uint32_t *full_width, uint32_t *full_height, char *message) {
    lk_heif_reader *reader = calloc(1, sizeof *reader);
    if (reader) reader->context = heif_context_alloc();
    if (!reader || !reader->context) {
        snprintf(message, LK_CODEC_MESSAGE_LENGTH, "out of memory");
        lk_heif_close(reader);
        return NULL;
    }
    memset(header, 0, sizeof *header);
    if (!is_fine(heif_context_read_from_memory_without_copy(reader->context, bytes, count, NULL), message) ||
        !is_fine(heif_context_get_primary_image_handle(reader->context, &reader->handle), message)) {
        lk_heif_close(reader);
        return NULL;
    }
    int width = heif_image_handle_get_width(reader->handle), height = heif_image_handle_get_height(reader->handle);
    *full_width = width > 0 ? (uint32_t)width : 0;
    *full_height = height > 0 ? (uint32_t)height : 0;
    // Colors are those of the whole image, which a thumbnail may leave out.
    read_colors(reader, header);
    if (needed_width && needed_height) choose_thumbnail(reader, needed_width, needed_height);
    width = heif_image_handle_get_width(reader->handle);
    height = heif_image_handle_get_height(reader->handle);
    header->width = reader->width = width > 0 ? (uint32_t)width : 0;
    header->height = reader->height = height > 0 ? (uint32_t)height : 0;
    // A canvas of tiles may have another size than its image; with one of libheif's default, row offsets are an int's.
    const int stored_width = heif_image_handle_get_ispe_width(reader->handle);
    const int stored_height = heif_image_handle_get_ispe_height(reader->handle);
    const int longest = stored_width > stored_height ? stored_width : stored_height;
    enum { DEFAULT_LIMIT = 32768 };
    heif_context_set_maximum_image_size_limit(reader->context, longest < DEFAULT_LIMIT ? longest + 1 : DEFAULT_LIMIT);
    header->channels = reader->channels = heif_image_handle_has_alpha_channel(reader->handle) ? 4 : 3;
    header->is_premultiplied = heif_image_handle_is_premultiplied_alpha(reader->handle);
    // libheif has applied the file's rotation; the EXIF block repeats it.
    header->orientation = 1;
    header->scans = 1;
    // Luma and chroma at full resolution, and libheif's own RGB, before anything is cropped.
    uint64_t depth = heif_image_handle_get_luma_bits_per_pixel(reader->handle) > 8 ? 2 : 1;
    header->working_bytes =
        2 * depth * header->channels * lk_heif_whole_side(stored_width, 1) * lk_heif_whole_side(stored_height, 1);
    return reader;
}

// A plane of samples of 8 bits, or of more in two bytes.
typedef struct {
    const uint8_t *samples;
    int stride;
    int width;
    int height;
    int depth;
} plane;

static plane plane_of(const struct heif_image *image, enum heif_channel channel) {
    plane found = {.width = heif_image_get_width(image, channel),
                   .height = heif_image_get_height(image, channel),
                   .depth = heif_image_get_bits_per_pixel_range(image, channel)};
    found.samples = heif_image_get_plane_readonly(image, channel, &found.stride);
    return found;
}

// Copies samples side by side, `step` apart, of a row as long as `width`; a plane of another size is stretched.
static void copy_row(const plane *from, uint32_t y, uint32_t width, uint32_t height, uint8_t *to, uint32_t step) {
    const uint8_t *row = from->samples + (ptrdiff_t)((uint64_t)y * (uint32_t)from->height / height) * from->stride;
    const bool is_stretched = (uint32_t)from->width != width;
    for (uint32_t x = 0; x < width; x++) {
        const size_t at = is_stretched ? (size_t)((uint64_t)x * (uint32_t)from->width / width) : x;
        if (from->depth <= 8) {
            to[x * step] = row[at];
        } else {
            uint16_t sample;
            memcpy(&sample, row + 2 * at, sizeof sample);
            to[x * step] = (uint8_t)(sample >> (from->depth - 8));
        }
    }
}

// Copies the channels side by side, with alpha if the reader has it. libheif would do it, but reads an alpha channel
// that is smaller than the colors beyond its end.
static bool copy_pixels(lk_heif_reader *reader, const struct heif_image *image, uint8_t *pixels) {
    const enum heif_channel channels[] = {heif_channel_R, heif_channel_G, heif_channel_B, heif_channel_Alpha};
    plane planes[4];
    for (uint32_t i = 0; i < reader->channels; i++) planes[i] = plane_of(image, channels[i]);
    const uint32_t width = (uint32_t)planes[0].width, height = (uint32_t)planes[0].height;
    bool is_same = width == reader->width && height == reader->height;
    // The size of the header is wrong where a quarter turn comes first in the list of properties.
    bool is_turned = width == reader->height && height == reader->width;
    if (!(is_same || is_turned)) return false;
    for (uint32_t i = 0; i < reader->channels; i++) {
        if (!planes[i].samples || planes[i].width <= 0 || planes[i].height <= 0) return false;
        if (i < 3 && (planes[i].width != planes[0].width || planes[i].height != planes[0].height)) return false;
    }
    reader->width = width;
    reader->height = height;
    const uint32_t step = reader->channels;
    for (uint32_t y = 0; y < height; y++)
        for (uint32_t i = 0; i < step; i++)
            copy_row(&planes[i], y, width, height, pixels + (size_t)y * width * step + i, step);
    return true;
}

bool lk_heif_decode(lk_heif_reader *reader, uint8_t *pixels, char *message) {
    struct heif_decoding_options *options = heif_decoding_options_alloc();
    if (!options) {
        snprintf(message, LK_CODEC_MESSAGE_LENGTH, "out of memory");
        return false;
    }
    options->strict_decoding = 1;
    if (lk_heif_use_decoders(reader->context)) options->decoder_id = LK_HEIF_DECODERS;
    // Coded images may be a little larger than what is shown of them, and tiles larger than a small image.
    enum { LARGEST_TILE_SIDE = 1024, CHANNELS = 3 };
    const int width = heif_image_handle_get_ispe_width(reader->handle);
    const int height = heif_image_handle_get_ispe_height(reader->handle);
    // The depth of an image of tiles may be unknown.
    const uint64_t depth = heif_image_handle_get_luma_bits_per_pixel(reader->handle) == 8 ? 1 : 2;
    lk_heif_call call = {.most_bytes = lk_heif_whole_side(width, LARGEST_TILE_SIDE) *
                                       lk_heif_whole_side(height, LARGEST_TILE_SIDE) * CHANNELS * depth};
    struct heif_image *image = NULL;
    lk_heif_begin_call(&call);
    bool is_decoded =
        is_fine(heif_decode_image(reader->handle, &image, heif_colorspace_RGB, heif_chroma_444, options), message);
    lk_heif_end_call(&call);
    heif_decoding_options_free(options);
    if (!is_decoded) return false;
    bool is_copied = copy_pixels(reader, image, pixels);
    if (!is_copied) snprintf(message, LK_CODEC_MESSAGE_LENGTH, "its pixels have another size than its header says");
    heif_image_release(image);
    return is_copied;
}

void lk_heif_decoded_size(const lk_heif_reader *reader, uint32_t *width, uint32_t *height) {
    *width = reader->width;
    *height = reader->height;
}

#endif
