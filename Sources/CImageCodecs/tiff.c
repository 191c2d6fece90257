// libtiff: the first page of a TIFF file that is no preview of another one.

#ifdef LK_TIFF

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <tiffio.h>

#include "CImageCodecs.h"

struct lk_tiff_reader {
    const uint8_t *bytes;
    size_t count;
    size_t position;
    TIFF *tiff;
    char message[LK_CODEC_MESSAGE_LENGTH];  // the first error
    uint32_t width;
    uint32_t height;
    bool is_cmyk;
    bool is_deep_gray;  // gray and alpha of 16 bits
    bool is_white_zero;
    bool is_lab;
    bool ignores_alpha;
    void *tile;  // libtiff's buffer for a tile as it is stored; NULL for one of its own
};

static tmsize_t read_bytes(thandle_t handle, void *out, tmsize_t count) {
    lk_tiff_reader *from = handle;
    size_t left = from->position < from->count ? from->count - from->position : 0;
    size_t taken = count < 0 ? 0 : (size_t)count < left ? (size_t)count : left;
    memcpy(out, from->bytes + from->position, taken);
    from->position += taken;
    return (tmsize_t)taken;
}

static tmsize_t write_nothing(thandle_t handle, void *bytes, tmsize_t count) {
    (void)handle, (void)bytes, (void)count;
    return 0;
}

static toff_t seek(thandle_t handle, toff_t offset, int whence) {
    lk_tiff_reader *from = handle;
    size_t start = whence == SEEK_CUR ? from->position : whence == SEEK_END ? from->count : 0;
    from->position = start + (size_t)offset;
    return from->position;
}

static int close_nothing(thandle_t handle) {
    (void)handle;
    return 0;
}

static toff_t size(thandle_t handle) { return ((lk_tiff_reader *)handle)->count; }

static int keep_error(TIFF *tiff, void *data, const char *module, const char *format, va_list arguments) {
    (void)tiff, (void)module;
    lk_tiff_reader *reader = data;
    if (!reader->message[0]) vsnprintf(reader->message, sizeof reader->message, format, arguments);
    return 1;
}

// libjpeg continues after damage and fills in gray, and libtiff takes what it says about that for a warning. Damage to
// pixels is an error here, as in JPEG files; `judge` in jpeg.c has the codes of these texts of jerror.h.
static int keep_damage(TIFF *tiff, void *data, const char *module, const char *format, va_list arguments) {
    static const char *const damage[] = {
        "Premature end of JPEG file",
        "premature end of data segment",
        "bad Huffman code",
        "bad arithmetic code",
        "instead of RST",
        "Inconsistent progression",
    };
    (void)tiff;
    lk_tiff_reader *reader = data;
    if (!module || strcmp(module, "JPEGLib") != 0) return 1;
    char words[LK_CODEC_MESSAGE_LENGTH];
    vsnprintf(words, sizeof words, format, arguments);
    for (size_t i = 0; i < sizeof damage / sizeof *damage; i++)
        if (!reader->message[0] && strstr(words, damage[i])) memcpy(reader->message, words, sizeof words);
    return 1;
}

static bool fail(const lk_tiff_reader *reader, const char *otherwise, char *message) {
    snprintf(message, LK_CODEC_MESSAGE_LENGTH, "%s", reader->message[0] ? reader->message : otherwise);
    return false;
}

void lk_tiff_close(lk_tiff_reader *reader) {
    if (!reader) return;
    if (reader->tiff) TIFFClose(reader->tiff);
    free(reader->tile);
    free(reader);
}

static bool open_file(lk_tiff_reader *reader, size_t maximum_memory, char *message) {
    TIFFOpenOptions *options = TIFFOpenOptionsAlloc();
    if (!options) return fail(reader, "out of memory", message);
    TIFFOpenOptionsSetMaxSingleMemAlloc(options, (tmsize_t)maximum_memory);
    TIFFOpenOptionsSetErrorHandlerExtR(options, keep_error, reader);
    TIFFOpenOptionsSetWarningHandlerExtR(options, keep_damage, reader);
    // The file is not mapped: libtiff may change the bytes of a map.
    reader->tiff = TIFFClientOpenExt("image", "rm", reader, read_bytes, write_nothing, seek, close_nothing, size, NULL,
                                     NULL, options);
    TIFFOpenOptionsFree(options);
    return reader->tiff ? true : fail(reader, "it has no directory", message);
}

static uint16_t number(TIFF *tiff, uint32_t tag) {
    uint16_t value = 0;
    return TIFFGetFieldDefaulted(tiff, tag, &value) ? value : 0;
}

// Searches go no further than this: libtiff compares each directory with all before it.
enum { MOST_PAGES = 64, MOST_PARTS = 16 };

static bool is_preview(TIFF *tiff) {
    uint32_t kind = 0;
    return TIFFGetFieldDefaulted(tiff, TIFFTAG_SUBFILETYPE, &kind) && kind & (FILETYPE_REDUCEDIMAGE | FILETYPE_MASK);
}

// Whether the page has what the sensor of a camera saw, not an image (DNG 1.6, PhotometricInterpretation).
static bool is_raw(TIFF *tiff) {
    uint16_t photometric = number(tiff, TIFFTAG_PHOTOMETRIC);
    return photometric == PHOTOMETRIC_CFA || photometric == 34892;
}

static bool refuse(lk_image_header *header, const char *reason, char *message) {
    header->is_unsupported = true;
    snprintf(message, LK_CODEC_MESSAGE_LENGTH, "%s", reason);
    return false;
}

// The next page after the present one that is no preview; the present one is then that page.
static bool next_page(TIFF *tiff, int *page) {
    while (++*page < MOST_PAGES && TIFFReadDirectory(tiff))
        if (!is_preview(tiff)) return true;
    return false;
}

// Selects the image of the file: the first page that is not marked as a preview, else the first part of a page that is
// not (TIFF 6.0, NewSubfileType; TIFF Technical Note 1, SubIFDs). Files of cameras have small images for their pages,
// beside what the sensor saw: these are refused.
static bool choose_page(lk_tiff_reader *reader, lk_image_header *header, char *message) {
    static const char raw[] = "it is the raw data of a camera";
    TIFF *tiff = reader->tiff;
    const void *version = NULL;
    bool is_canon = reader->count >= 10 && memcmp(reader->bytes + 8, "CR", 2) == 0;
    if (is_canon || is_raw(tiff) || TIFFGetField(tiff, TIFFTAG_DNGVERSION, &version))
        return refuse(header, raw, message);
    const bool is_first_preview = is_preview(tiff);
    if (!is_first_preview && TIFFLastDirectory(tiff) && !TIFFGetField(tiff, TIFFTAG_SUBIFD, &(uint16_t){0}, &version))
        return true;
    uint64_t parts[MOST_PARTS], chosen_part = 0, *offsets = NULL;
    uint16_t part_count = 0;
    if (!TIFFGetField(tiff, TIFFTAG_SUBIFD, &part_count, &offsets) || !offsets) part_count = 0;
    if (part_count > MOST_PARTS) part_count = MOST_PARTS;
    if (part_count) memcpy(parts, offsets, part_count * sizeof *parts);
    for (uint16_t i = 0; i < part_count; i++) {
        // A part that cannot be read is none.
        if (!TIFFSetSubDirectory(tiff, parts[i])) continue;
        if (is_raw(tiff)) return refuse(header, raw, message);
        if (!chosen_part && !is_preview(tiff)) chosen_part = parts[i];
    }
    int page = 0, chosen_page = 0;
    bool is_there = TIFFSetDirectory(tiff, 0);
    bool has_page = is_there && (!is_first_preview || next_page(tiff, &page));
    if (has_page) {
        if (is_raw(tiff)) return refuse(header, raw, message);
        chosen_page = page;
        if (next_page(tiff, &page)) {
            if (is_raw(tiff)) return refuse(header, raw, message);
            header->note = "it has several pages, and the first is read";
        }
    } else if (!chosen_part) {
        header->note = "it has a preview alone, and no image that it is of";
    }
    is_there = is_there && (has_page || !chosen_part ? TIFFSetDirectory(tiff, (tdir_t)chosen_page)
                                                     : TIFFSetSubDirectory(tiff, chosen_part));
    // What libtiff said about other pages does not matter.
    if (is_there) reader->message[0] = 0;
    return is_there ? true : fail(reader, "it has no directory", message);
}

// libtiff multiplies with alpha, and leaves 255 where there is none. But it does not multiply gray of 8 bits, and
// leaves out the alpha channel of deeper gray, of palettes and of inks. It takes the fourth sample of RGB for alpha
// even where that is unspecified data, such as a saved selection (TIFF 6.0, ExtraSamples).
static bool read_alpha(lk_tiff_reader *reader, uint16_t photometric, lk_image_header *header, char *message) {
    TIFF *tiff = reader->tiff;
    uint16_t samples = number(tiff, TIFFTAG_SAMPLESPERPIXEL), bits = number(tiff, TIFFTAG_BITSPERSAMPLE);
    uint16_t extra = 0;
    uint16_t *kinds = NULL;
    TIFFGetFieldDefaulted(tiff, TIFFTAG_EXTRASAMPLES, &extra, &kinds);
    header->is_premultiplied = true;
    reader->ignores_alpha = extra > 0 && kinds[0] == EXTRASAMPLE_UNSPECIFIED;
    bool is_gray = photometric == PHOTOMETRIC_MINISBLACK || photometric == PHOTOMETRIC_MINISWHITE;
    bool is_single = (is_gray || photometric == PHOTOMETRIC_PALETTE) && samples == extra + 1;
    bool are_inks = photometric == PHOTOMETRIC_SEPARATED;
    // libtiff looks for alpha in the first extra sample alone.
    bool has_alpha = extra > 0 && (kinds[0] == EXTRASAMPLE_ASSOCALPHA || kinds[0] == EXTRASAMPLE_UNASSALPHA);
    if (!has_alpha || !(are_inks || (is_single && number(tiff, TIFFTAG_PLANARCONFIG) == PLANARCONFIG_CONTIG)))
        return true;
    bool is_pair = is_gray && samples == 2;
    reader->is_deep_gray = is_pair && bits == 16 && !TIFFIsTiled(tiff);
    if (!reader->is_deep_gray && !(is_pair && bits == 8)) {
        header->is_unsupported = true;
        snprintf(message, LK_CODEC_MESSAGE_LENGTH, "its alpha channel would be lost");
        return false;
    }
    header->is_premultiplied = kinds[0] == EXTRASAMPLE_ASSOCALPHA;
    // Without the tag, 0 is black.
    reader->is_white_zero =
        TIFFGetField(tiff, TIFFTAG_PHOTOMETRIC, &photometric) && photometric == PHOTOMETRIC_MINISWHITE;
    return true;
}

// The width in whole tiles, in pixels: in tiles that are cut off at the right, libtiff skips too few bytes per row if
// pixels are 16-bit gray, or gray or a palette with extra samples.
static uint64_t raster_width(const lk_tiff_reader *reader) {
    uint32_t across = 0;
    if (!TIFFIsTiled(reader->tiff) || !TIFFGetField(reader->tiff, TIFFTAG_TILEWIDTH, &across) || across == 0)
        return reader->width;
    return ((uint64_t)reader->width + across - 1) / across * across;
}

// Whether libtiff can decompress the image. It says so of a file only when pixels are read.
static bool check_compression(TIFF *tiff, lk_image_header *header, char *message) {
    uint16_t compression = number(tiff, TIFFTAG_COMPRESSION);
    if (TIFFIsCODECConfigured(compression)) return true;
    // Those of Leica's and Aperio's scanners, and of digital cinema.
    bool is_jpeg_2000 = compression == 33003 || compression == 33004 || compression == 33005 || compression == 34712;
    char reason[64];
    snprintf(reason, sizeof reason, is_jpeg_2000 ? "it is compressed as JPEG 2000" : "its compression %d is not known",
             compression);
    return refuse(header, reason, message);
}

static bool read_header(lk_tiff_reader *reader, lk_image_header *header, char *message) {
    TIFF *tiff = reader->tiff;
    if (!check_compression(tiff, header, message)) return false;
    if (!TIFFGetField(tiff, TIFFTAG_IMAGEWIDTH, &reader->width) ||
        !TIFFGetField(tiff, TIFFTAG_IMAGELENGTH, &reader->height))
        return fail(reader, "it does not say its size", message);
    header->width = reader->width;
    header->height = reader->height;
    header->channels = 4;
    header->scans = 1;
    uint16_t orientation = number(tiff, TIFFTAG_ORIENTATION);
    header->orientation = orientation >= 1 && orientation <= 8 ? orientation : 1;
    uint16_t photometric = number(tiff, TIFFTAG_PHOTOMETRIC);
    // Inks stay as they are, for their profile. libtiff would convert them without one.
    reader->is_cmyk = photometric == PHOTOMETRIC_SEPARATED && number(tiff, TIFFTAG_BITSPERSAMPLE) == 8 &&
                      number(tiff, TIFFTAG_SAMPLESPERPIXEL) == 4 &&
                      number(tiff, TIFFTAG_PLANARCONFIG) == PLANARCONFIG_CONTIG && !TIFFIsTiled(tiff);
    header->is_cmyk = reader->is_cmyk;
    reader->is_lab = photometric == PHOTOMETRIC_CIELAB;
    char reason[1024] = "";
    bool is_fine = reader->is_cmyk || TIFFRGBAImageOK(tiff, reason);
    // libtiff would take signed samples for unsigned ones, and finds that it cannot read deep inks too late.
    if (is_fine && number(tiff, TIFFTAG_SAMPLEFORMAT) == SAMPLEFORMAT_INT) {
        is_fine = false;
        snprintf(reason, sizeof reason, "its samples are signed");
    } else if (is_fine && photometric == PHOTOMETRIC_SEPARATED && number(tiff, TIFFTAG_BITSPERSAMPLE) != 8) {
        is_fine = false;
        snprintf(reason, sizeof reason, "its inks have %d bits", number(tiff, TIFFTAG_BITSPERSAMPLE));
    }
    if (!is_fine) {
        header->is_unsupported = true;
        snprintf(message, LK_CODEC_MESSAGE_LENGTH, "%s", reason);
        return false;
    }
    if (!reader->is_cmyk && !read_alpha(reader, photometric, header, message)) return false;
    // These are the bytes of a strip or a tile. As it is stored it is no larger than the file.
    header->working_bytes = TIFFIsTiled(tiff) ? TIFFTileSize64(tiff) : TIFFStripSize64(tiff);
    const uint64_t width = raster_width(reader);
    if (width > UINT32_MAX) return fail(reader, "its tiles are too wide", message);
    uint64_t raster_bytes;
    if (width > reader->width && (__builtin_mul_overflow(width * 4, reader->height, &raster_bytes) ||
                                  __builtin_add_overflow(header->working_bytes, raster_bytes, &header->working_bytes)))
        return fail(reader, "its tiles are too large", message);
    // Other models, such as L*a*b*, are converted by their own definition.
    uint32_t count = 0;
    void *profile = NULL;
    bool has_profile = photometric == PHOTOMETRIC_RGB || photometric == PHOTOMETRIC_YCBCR ||
                       photometric == PHOTOMETRIC_PALETTE || photometric == PHOTOMETRIC_MINISBLACK ||
                       photometric == PHOTOMETRIC_MINISWHITE || reader->is_cmyk;
    if (has_profile && TIFFGetField(tiff, TIFFTAG_ICCPROFILE, &count, &profile)) {
        header->profile = profile;
        header->profile_count = count;
    }
    return true;
}

lk_tiff_reader *lk_tiff_open(const uint8_t *bytes, size_t count, size_t maximum_memory, lk_image_header *header,
                             char *message) {
    memset(header, 0, sizeof *header);
    lk_tiff_reader *reader = calloc(1, sizeof *reader);
    if (!reader) {
        snprintf(message, LK_CODEC_MESSAGE_LENGTH, "out of memory");
        return NULL;
    }
    reader->bytes = bytes;
    reader->count = count;
    if (!open_file(reader, maximum_memory, message) || !choose_page(reader, header, message) ||
        !read_header(reader, header, message)) {
        lk_tiff_close(reader);
        return NULL;
    }
    return reader;
}

// Decodes samples as they are stored.
static bool decode_rows(lk_tiff_reader *reader, uint8_t *pixels, size_t stride, char *message) {
    if ((size_t)TIFFScanlineSize64(reader->tiff) > stride) return fail(reader, "its rows are too long", message);
    for (uint32_t row = 0; row < reader->height; row++)
        if (TIFFReadScanline(reader->tiff, pixels + row * stride, row, 0) < 0)
            return fail(reader, "the file ends early", message);
    return reader->message[0] ? fail(reader, "its pixels cannot be decoded", message) : true;
}

// Decodes gray and alpha of 16 bits, in place: the two samples of a pixel take as many bytes as the pixel.
static bool decode_deep_gray(lk_tiff_reader *reader, uint8_t *pixels, size_t stride, char *message) {
    if (!decode_rows(reader, pixels, stride, message)) return false;
    for (size_t i = 0; i < (size_t)reader->width * reader->height; i++) {
        uint16_t samples[2];
        memcpy(samples, pixels + 4 * i, sizeof samples);
        // Rounded as libtiff rounds deep colors.
        uint8_t gray = (uint8_t)((samples[0] + 128) / 257);
        memset(pixels + 4 * i, reader->is_white_zero ? 255 - gray : gray, 3);
        pixels[4 * i + 3] = (uint8_t)((samples[1] + 128) / 257);
    }
    return true;
}

// Decodes rows of the image's own width from whole tiles.
static bool decode_raster(TIFFRGBAImage *image, const lk_tiff_reader *reader, uint8_t *pixels, size_t stride) {
    const size_t width = (size_t)raster_width(reader);
    if (width == reader->width) return TIFFRGBAImageGet(image, (uint32_t *)pixels, reader->width, reader->height) != 0;
    uint32_t *raster = malloc(width * reader->height * 4);
    // libtiff leaves out what lies beyond this.
    image->width = (uint32_t)width;
    const bool is_fine = raster && TIFFRGBAImageGet(image, raster, (uint32_t)width, reader->height) != 0;
    for (uint32_t row = 0; is_fine && row < reader->height; row++)
        memcpy(pixels + row * stride, raster + row * width, (size_t)reader->width * 4);
    free(raster);
    return is_fine;
}

// Keeps L*a*b* as it is, of 8 bits, in the place of red, green and blue: what libtiff makes of it is yellow where it is
// white, and too light.
static void keep_lab(TIFFRGBAImage *image, uint32_t *to, uint32_t x, uint32_t y, uint32_t width, uint32_t height,
                     int32_t skip, int32_t skip_to, unsigned char *from) {
    (void)x, (void)y;
    const bool is_deep = image->bitspersample == 16;
    const ptrdiff_t size = is_deep ? 6 : 3;
    for (; height > 0; height--, to += skip_to, from += skip * size)
        for (uint32_t i = 0; i < width; i++, from += size) {
            uint32_t samples[3];
            for (int j = 0; j < 3; j++) {
                uint16_t deep;
                if (is_deep) memcpy(&deep, from + 2 * j, 2);
                // L* has 65,535 for 100, and a* and b* have 256 for 1.
                samples[j] = !is_deep ? from[j] : j == 0 ? (deep + 128u) / 257 : deep >> 8;
            }
            *to++ = samples[0] | samples[1] << 8 | samples[2] << 16 | 0xFF000000;
        }
}

// Converts pixels of L*a*b* to sRGB. Their white is white, whatever it is: that of D50 is taken for it, and is adapted
// to that of sRGB by the matrix of Bradford (TIFF 6.0, section 23; ICC.1:2022, annex E).
static void convert_lab(uint8_t *pixels, size_t count) {
    static const float matrix[3][3] = {{3.1338561f, -1.6168667f, -0.4906146f},
                                       {-0.9787684f, 1.9161415f, 0.0334540f},
                                       {0.0719453f, -0.2289914f, 1.4052427f}};
    static const float white[3] = {0.96422f, 1, 0.82521f};
    enum { STEPS = 4096 };
    uint8_t encoded[STEPS + 1];
    for (int i = 0; i <= STEPS; i++) {
        float linear = (float)i / STEPS;
        encoded[i] =
            (uint8_t)lrintf(255 * (linear <= 0.0031308f ? 12.92f * linear : 1.055f * powf(linear, 1 / 2.4f) - 0.055f));
    }
    for (uint8_t *pixel = pixels; pixel < pixels + 4 * count; pixel += 4) {
        const float y = (pixel[0] * (100 / 255.0f) + 16) / 116;
        float xyz[3] = {y + (int8_t)pixel[1] / 500.0f, y, y - (int8_t)pixel[2] / 200.0f};
        for (int i = 0; i < 3; i++)
            xyz[i] = white[i] * (xyz[i] > 6 / 29.0f ? xyz[i] * xyz[i] * xyz[i] : (xyz[i] - 4 / 29.0f) * (108 / 841.0f));
        for (int i = 0; i < 3; i++) {
            float linear = matrix[i][0] * xyz[0] + matrix[i][1] * xyz[1] + matrix[i][2] * xyz[2];
            pixel[i] = encoded[(int)(STEPS * fminf(fmaxf(linear, 0), 1) + 0.5f)];
        }
    }
}

bool lk_tiff_decode(lk_tiff_reader *reader, uint8_t *pixels, size_t stride, char *message) {
    if (reader->is_cmyk) return decode_rows(reader, pixels, stride, message);
    if (reader->is_deep_gray) return decode_deep_gray(reader, pixels, stride, message);
    // libtiff rounds its own buffer up to a multiple of 1,024 bytes, and then takes the surplus for an oversized tile.
    if (TIFFIsTiled(reader->tiff) && number(reader->tiff, TIFFTAG_COMPRESSION) == COMPRESSION_NONE) {
        const tmsize_t size = TIFFTileSize(reader->tiff);
        if (!reader->tile) reader->tile = size > 0 ? malloc((size_t)size) : NULL;
        if (!reader->tile || !TIFFReadBufferSetup(reader->tiff, reader->tile, size))
            return fail(reader, "out of memory", message);
    }
    TIFFRGBAImage image;
    char reason[1024] = "";
    if (!TIFFRGBAImageBegin(&image, reader->tiff, 1, reason)) return fail(reader, reason, message);
    // The pixels stay as they are stored: the caller turns the image upright, also by a quarter.
    image.orientation = ORIENTATION_TOPLEFT;
    image.req_orientation = ORIENTATION_TOPLEFT;
    const bool is_lab = reader->is_lab && image.isContig;
    if (is_lab) image.put.contig = keep_lab;
    const bool is_fine = decode_raster(&image, reader, pixels, stride);
    TIFFRGBAImageEnd(&image);
    if (!is_fine || reader->message[0]) return fail(reader, "its pixels cannot be decoded", message);
    for (size_t i = 0; i < (size_t)reader->width * reader->height; i++) {
        uint32_t pixel;
        memcpy(&pixel, pixels + 4 * i, 4);
        pixels[4 * i] = (uint8_t)TIFFGetR(pixel);
        pixels[4 * i + 1] = (uint8_t)TIFFGetG(pixel);
        pixels[4 * i + 2] = (uint8_t)TIFFGetB(pixel);
        pixels[4 * i + 3] = reader->ignores_alpha ? 255 : (uint8_t)TIFFGetA(pixel);
    }
    if (is_lab) convert_lab(pixels, (size_t)reader->width * reader->height);
    return true;
}

#endif
