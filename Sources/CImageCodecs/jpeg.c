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
} error_manager;

static void fail(j_common_ptr common) {
    error_manager *errors = (error_manager *)common->err;
    char text[JMSG_LENGTH_MAX];
    common->err->format_message(common, text);
    snprintf(errors->message, LK_CODEC_MESSAGE_LENGTH, "%s", text);
    longjmp(errors->jump, 1);
}

// libjpeg continues after damage and fills in gray. Damage to pixels is an error here; other damage (stray bytes
// between markers, an odd Adobe or JFIF marker) stays a warning.
static void judge(j_common_ptr common, int level) {
    if (level >= 0) return;
    switch (common->err->msg_code) {
    case JWRN_JPEG_EOF:
        snprintf(((error_manager *)common->err)->message, LK_CODEC_MESSAGE_LENGTH, "the file ends early");
        longjmp(((error_manager *)common->err)->jump, 1);
    case JWRN_HIT_MARKER:
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
    if (setjmp(errors.jump)) {
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

bool lk_jpeg_decode(const uint8_t *bytes, size_t count, uint32_t eighths, const lk_image_header *header,
                    uint32_t maximum_scans, uint8_t *pixels, size_t stride, char *message) {
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
    jpeg_finish_decompress(&jpeg);
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
