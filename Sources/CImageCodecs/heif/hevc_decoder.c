// HEVC with libde265. It has no limit of its own, so NAL units are looked at before it sees them.

#ifdef LK_HEIF

#include <libde265/de265.h>
#include <limits.h>
#include <stdlib.h>

#include "CImageCodecs.h"
#include "decoders.h"

// The size of a picture from the beginning of a sequence parameter set; ITU-T H.265, sections 7.3.1 (NAL units),
// 7.3.2.2 and 7.3.3.

// Bits of a NAL unit, without the bytes that keep start codes out of it.
typedef struct {
    const uint8_t *bytes;
    size_t count;
    size_t byte;
    int bit;
    int zeros;
    bool is_over;
} bit_reader;

static uint32_t read_bit(bit_reader *reader) {
    if (reader->bit == 0 && reader->zeros >= 2 && reader->byte < reader->count && reader->bytes[reader->byte] == 3) {
        reader->byte++;
        reader->zeros = 0;
    }
    if (reader->byte >= reader->count) {
        reader->is_over = true;
        return 0;
    }
    const uint8_t byte = reader->bytes[reader->byte];
    const uint32_t bit = byte >> (7 - reader->bit) & 1;
    if (++reader->bit == 8) {
        reader->zeros = byte == 0 ? reader->zeros + 1 : 0;
        reader->bit = 0;
        reader->byte++;
    }
    return bit;
}

static uint32_t read_bits(bit_reader *reader, int count) {
    uint32_t value = 0;
    for (int i = 0; i < count; i++) value = value << 1 | read_bit(reader);
    return value;
}

// An unsigned Exp-Golomb code, ue(v); section 9.2.
static uint64_t read_code(bit_reader *reader) {
    int zeros = 0;
    while (!reader->is_over && zeros < 32 && read_bit(reader) == 0) zeros++;
    return ((uint64_t)1 << zeros) - 1 + read_bits(reader, zeros);
}

enum { PROFILE_BITS = 88, LEVEL_BITS = 8 };

static void skip_profiles(bit_reader *reader, uint32_t sub_layers) {
    read_bits(reader, PROFILE_BITS + LEVEL_BITS);
    bool has_profile[8], has_level[8];
    for (uint32_t i = 0; i < sub_layers; i++) {
        has_profile[i] = read_bit(reader);
        has_level[i] = read_bit(reader);
    }
    if (sub_layers > 0) read_bits(reader, 2 * (int)(8 - sub_layers));
    for (uint32_t i = 0; i < sub_layers; i++)
        read_bits(reader, has_profile[i] * PROFILE_BITS + has_level[i] * LEVEL_BITS);
}

bool lk_hevc_picture_bytes(const uint8_t *unit, size_t count, uint64_t *bytes) {
    enum { SEQUENCE_PARAMETER_SET = 33, SEPARATE_PLANES = 3, FORMATS = 4, MOST_EXTRA_BITS = 8 };
    // Halves of samples per pixel: gray, 4:2:0, 4:2:2, 4:4:4.
    static const uint64_t samples[FORMATS] = {2, 3, 4, 6};
    *bytes = 0;
    bit_reader reader = {.bytes = unit, .count = count};
    read_bit(&reader);
    const uint32_t type = read_bits(&reader, 6), layer = read_bits(&reader, 6);
    read_bits(&reader, 3);
    // Layers above the first are another format's, which decoders leave out.
    if (reader.is_over || type != SEQUENCE_PARAMETER_SET || layer > 0) return true;
    read_bits(&reader, 4);
    const uint32_t sub_layers = read_bits(&reader, 3);
    read_bit(&reader);
    skip_profiles(&reader, sub_layers);
    read_code(&reader);
    const uint64_t format = read_code(&reader);
    if (format == SEPARATE_PLANES) read_bit(&reader);
    const uint64_t width = read_code(&reader), height = read_code(&reader);
    // The conformance window.
    if (read_bit(&reader))
        for (int i = 0; i < 4; i++) read_code(&reader);
    const uint64_t luma = read_code(&reader), chroma = read_code(&reader);
    if (reader.is_over || format >= FORMATS || luma > MOST_EXTRA_BITS || chroma > MOST_EXTRA_BITS) return false;
    const uint64_t most = UINT64_MAX / samples[SEPARATE_PLANES];
    if (width > UINT32_MAX || height > UINT32_MAX || (width > 0 && height > most / width)) *bytes = UINT64_MAX;
    else *bytes = width * height * samples[format] / 2 * (luma > 0 || chroma > 0 ? 2 : 1);
    return true;
}

typedef struct {
    de265_decoder_context *context;
    // The bytes of a picture, by the parameter sets so far.
    uint64_t picture_bytes;
    bool has_picture;
    bool is_strict;
} hevc_decoder;

// Types of NAL units; table 7-1.
enum { FIRST_RANDOM_ACCESS = 16, FIRST_IDR = 19, LAST_IDR = 20, LAST_RANDOM_ACCESS = 21, FIRST_PARAMETER_SET = 32 };
// The decoded picture buffer and the picture itself; section A.4.
enum { MOST_REFERENCES = 17 };
// The bytes that such a buffer may take in any file.
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
    // One thread beside this one; deblocking needs it.
    de265_start_worker_threads(hevc->context, 1);
    *decoder = hevc;
    return lk_heif_success;
}

static void close_decoder(void *decoder) {
    hevc_decoder *hevc = decoder;
    de265_free_decoder(hevc->context);
    free(hevc);
}

// A file has one picture, which refers to no other. Further pictures cost memory and time that the header says nothing
// about.
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
