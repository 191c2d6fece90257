// libjpeg-turbo.

#include <setjmp.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <jpeglib.h>
#include <jerror.h>

#include "CImageCodecs.h"

typedef struct {
    struct jpeg_error_mgr base;
    jmp_buf jump;
    char *message;
    bool is_unsupported;   // the file is sound, but of a kind that the library does not read
    bool reads_pixels;     // whether the header is read
    bool has_ended_early;  // the bytes ran out among the pixels or behind them
} error_manager;

static void fail_with(error_manager *errors, const char *words) {
    snprintf(errors->message, LK_CODEC_MESSAGE_LENGTH, "%s", words);
    longjmp(errors->jump, 1);
}

// What a frame is that the library does not read, by its marker (ISO/IEC 10918-1, table B.1).
static const char *process(int marker) {
    switch (marker) {
    case 0xc3: return "it is lossless";
    case 0xc5:
    case 0xc6:
    case 0xc7: return "it is hierarchical";
    case 0xcb: return "it is lossless, with arithmetic coding";
    case 0xcd:
    case 0xce:
    case 0xcf: return "it is hierarchical, with arithmetic coding";
    case 0xf7: return "it is JPEG-LS";
    default: return NULL;
    }
}

static void fail(j_common_ptr common) {
    error_manager *errors = (error_manager *)common->err;
    char text[JMSG_LENGTH_MAX];
    common->err->format_message(common, text);
    const char *words = text;
    const int number = common->err->msg_parm.i[0];
    switch (common->err->msg_code) {
    case JERR_BAD_PRECISION:
        // A frame has 2 to 16 bits; other numbers are damage.
        errors->is_unsupported = number >= 2 && number <= 16;
        snprintf(text, sizeof text, "it has %d bits per sample", number);
        break;
    case JERR_SOF_UNSUPPORTED:
    case JERR_UNKNOWN_MARKER:
        if (process(number)) words = process(number);
        errors->is_unsupported = words != text;
        break;
    case JERR_ARITH_NOTIMPL:
    case JERR_CCIR601_NOTIMPL:
    case JERR_CONVERSION_NOTIMPL:
    case JERR_FRACT_SAMPLE_NOTIMPL:
    case JERR_NOT_COMPILED: errors->is_unsupported = true; break;
    default: break;
    }
    fail_with(errors, words);
}

static const char ends_early[] = "the file ends early";

// libjpeg continues after damage and fills in gray. Damage to pixels is an error here; other damage (stray bytes
// between markers, an odd Adobe or JFIF marker) stays a warning. Where the bytes end, libjpeg adds an end marker; one
// that comes among the pixels is `JWRN_HIT_MARKER`.
static void judge(j_common_ptr common, int level) {
    if (level >= 0) return;
    error_manager *errors = (error_manager *)common->err;
    switch (common->err->msg_code) {
    case JWRN_JPEG_EOF:
        if (!errors->reads_pixels) fail_with(errors, ends_early);
        errors->has_ended_early = true;
        break;
    case JWRN_HIT_MARKER:
        if (errors->has_ended_early) fail_with(errors, ends_early);
        fail(common);
        break;
    case JWRN_HUFF_BAD_CODE:
    case JWRN_MUST_RESYNC:
    case JWRN_BOGUS_PROGRESSION:
    case JWRN_ARITH_BAD_CODE: fail(common);
    default: break;
    }
}

static void print_nothing(j_common_ptr common) { (void)common; }

static void open_errors(struct jpeg_error_mgr **slot, error_manager *errors, char *message) {
    *slot = jpeg_std_error(&errors->base);
    errors->base.error_exit = fail;
    errors->base.emit_message = judge;
    errors->base.output_message = print_nothing;
    errors->message = message;
    errors->is_unsupported = false;
    errors->reads_pixels = false;
    errors->has_ended_early = false;
}

static uint16_t orientation(jpeg_saved_marker_ptr marker) {
    for (; marker; marker = marker->next) {
        if (marker->marker != JPEG_APP0 + 1 || marker->data_length < 6) continue;
        if (memcmp(marker->data, "Exif\0\0", 6) != 0) continue;
        return lk_exif_orientation(marker->data + 6, marker->data_length - 6);
    }
    return 1;
}

static void describe(struct jpeg_decompress_struct *jpeg, lk_image_header *header) {
    memset(header, 0, sizeof *header);
    header->orientation = orientation(jpeg->marker_list);
    switch (jpeg->jpeg_color_space) {
    case JCS_GRAYSCALE:
        jpeg->out_color_space = JCS_GRAYSCALE;
        header->channels = 1;
        break;
    case JCS_CMYK:
    case JCS_YCCK:
        jpeg->out_color_space = JCS_CMYK;
        header->channels = 4;
        header->is_cmyk = true;
        header->is_inverted = jpeg->saw_Adobe_marker;
        break;
    default:
        jpeg->out_color_space = JCS_RGB;
        header->channels = 3;
        break;
    }
}

// The number of scans, which is that of SOS markers (ISO/IEC 10918-1, annex B). Segments with a length are skipped; in
// compressed data 0xFF is followed by 0, by the number of a restart, or by a marker.
static uint32_t count_scans(const uint8_t *bytes, size_t count) {
    uint32_t scans = 0;
    size_t at = 2;
    while (at + 1 < count) {
        const uint8_t *found = memchr(bytes + at, 0xff, count - at - 1);
        if (!found) break;
        at = (size_t)(found - bytes) + 1;
        uint8_t marker = bytes[at];
        if (marker == 0xff) continue;
        at++;
        bool is_alone = marker <= 0x01 || (marker >= 0xd0 && marker <= 0xd8);
        if (is_alone) continue;
        if (marker == 0xd9) break;
        if (marker == 0xda) scans++;
        if (at + 2 > count) break;
        at += (size_t)bytes[at] << 8 | bytes[at + 1];
    }
    return scans;
}

// A JPEG file with several scans is decoded from the coefficients of the whole image.
static void measure(const struct jpeg_decompress_struct *jpeg, const uint8_t *bytes, size_t count,
                    lk_image_header *header) {
    header->scans = 1;
    if (!jpeg_has_multiple_scans((j_decompress_ptr)jpeg)) return;
    header->scans = count_scans(bytes, count);
    for (int i = 0; i < jpeg->num_components; i++) {
        const jpeg_component_info *component = &jpeg->comp_info[i];
        uint64_t columns = component->width_in_blocks + (uint64_t)component->h_samp_factor;
        uint64_t rows = component->height_in_blocks + (uint64_t)component->v_samp_factor;
        header->working_bytes += columns * rows * sizeof(JBLOCK);
    }
}

typedef struct {
    struct jpeg_progress_mgr base;
    uint32_t maximum_scans;
} scan_limit;

// A damaged file may hide scans from `count_scans`.
static void check_scans(j_common_ptr common) {
    scan_limit *limit = (scan_limit *)common->progress;
    uint32_t scan = (uint32_t)((j_decompress_ptr)common)->input_scan_number;
    if (scan <= limit->maximum_scans) return;
    error_manager *errors = (error_manager *)common->err;
    snprintf(errors->message, LK_CODEC_MESSAGE_LENGTH, "it has more than %u scans", limit->maximum_scans);
    longjmp(errors->jump, 1);
}

static void begin(struct jpeg_decompress_struct *jpeg, const uint8_t *bytes, size_t count) {
    jpeg_create_decompress(jpeg);
    jpeg_mem_src(jpeg, bytes, count);
    jpeg_save_markers(jpeg, JPEG_APP0 + 1, 0xffff);
    jpeg_read_header(jpeg, TRUE);
}

bool lk_jpeg_read_header(const uint8_t *bytes, size_t count, lk_image_header *header, char *message) {
    return lk_jpeg_scaled_header(bytes, count, 8, header, message);
}

bool lk_jpeg_scaled_header(const uint8_t *bytes, size_t count, uint32_t eighths, lk_image_header *header,
                           char *message) {
    struct jpeg_decompress_struct jpeg;
    error_manager errors;
    memset(&jpeg, 0, sizeof jpeg);
    open_errors(&jpeg.err, &errors, message);
    memset(header, 0, sizeof *header);
    if (setjmp(errors.jump)) {
        header->is_unsupported = errors.is_unsupported;
        jpeg_destroy_decompress(&jpeg);
        return false;
    }
    begin(&jpeg, bytes, count);
    describe(&jpeg, header);
    measure(&jpeg, bytes, count, header);
    jpeg.scale_num = eighths;
    jpeg.scale_denom = 8;
    jpeg_calc_output_dimensions(&jpeg);
    header->width = jpeg.output_width;
    header->height = jpeg.output_height;
    jpeg_destroy_decompress(&jpeg);
    return true;
}

// Whether the scans so far have all coefficients of all components.
static bool has_all_scans(const struct jpeg_decompress_struct *jpeg) {
    for (int i = 0; i < jpeg->num_components; i++) {
        // A component gets its table with its first scan.
        if (!jpeg->comp_info[i].quant_table) return false;
        if (!jpeg->progressive_mode || !jpeg->coef_bits) continue;
        // The bits of each coefficient that are still missing; -1 for all of them.
        for (int k = 0; k < DCTSIZE2; k++)
            if (jpeg->coef_bits[i][k] != 0) return false;
    }
    // An arithmetic decoder cannot tell missing bytes from zeros.
    return !jpeg->arith_code;
}

bool lk_jpeg_decode(const uint8_t *bytes, size_t count, uint32_t eighths, const lk_image_header *header,
                    uint32_t maximum_scans, uint8_t *pixels, size_t stride, const char **note, char *message) {
    struct jpeg_decompress_struct jpeg;
    error_manager errors;
    scan_limit limit = {.base.progress_monitor = check_scans, .maximum_scans = maximum_scans};
    memset(&jpeg, 0, sizeof jpeg);
    open_errors(&jpeg.err, &errors, message);
    if (setjmp(errors.jump)) {
        jpeg_destroy_decompress(&jpeg);
        return false;
    }
    begin(&jpeg, bytes, count);
    errors.reads_pixels = true;
    jpeg.progress = &limit.base;
    lk_image_header again;
    describe(&jpeg, &again);
    jpeg.scale_num = eighths;
    jpeg.scale_denom = 8;
    jpeg_start_decompress(&jpeg);
    if (jpeg.output_width != header->width || jpeg.output_height != header->height) {
        snprintf(message, LK_CODEC_MESSAGE_LENGTH, "its header changed while it was read");
        jpeg_destroy_decompress(&jpeg);
        return false;
    }
    while (jpeg.output_scanline < jpeg.output_height) {
        JSAMPROW row = pixels + (size_t)jpeg.output_scanline * stride;
        jpeg_read_scanlines(&jpeg, &row, 1);
    }
    const bool is_complete = has_all_scans(&jpeg);
    jpeg_finish_decompress(&jpeg);
    if (errors.has_ended_early && !is_complete) fail_with(&errors, ends_early);
    if (errors.has_ended_early) *note = "its end marker is missing";
    jpeg_destroy_decompress(&jpeg);
    return true;
}

bool lk_jpeg_encode(const uint8_t *pixels, uint32_t width, uint32_t height, uint32_t channels, size_t stride,
                    int quality, uint8_t **file, size_t *count, char *message) {
    struct jpeg_compress_struct jpeg;
    error_manager errors;
    unsigned char *volatile buffer = NULL;
    unsigned long length = 0;
    memset(&jpeg, 0, sizeof jpeg);
    open_errors(&jpeg.err, &errors, message);
    if (setjmp(errors.jump)) {
        jpeg_destroy_compress(&jpeg);
        free(buffer);
        return false;
    }
    jpeg_create_compress(&jpeg);
    jpeg_mem_dest(&jpeg, (unsigned char **)&buffer, &length);
    jpeg.image_width = width;
    jpeg.image_height = height;
    jpeg.input_components = (int)channels;
    jpeg.in_color_space = channels == 1 ? JCS_GRAYSCALE : JCS_RGB;
    jpeg_set_defaults(&jpeg);
    jpeg_set_quality(&jpeg, quality, TRUE);
    jpeg_start_compress(&jpeg, TRUE);
    while (jpeg.next_scanline < height) {
        JSAMPROW row = (JSAMPROW)(pixels + (size_t)jpeg.next_scanline * stride);
        jpeg_write_scanlines(&jpeg, &row, 1);
    }
    jpeg_finish_compress(&jpeg);
    jpeg_destroy_compress(&jpeg);
    *file = buffer;
    *count = length;
    return true;
}
