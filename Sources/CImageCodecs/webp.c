// libwebp.

#ifdef LK_WEBP

#include <stdio.h>
#include <string.h>
#include <webp/decode.h>

#include "CImageCodecs.h"

static const char *reason(VP8StatusCode status) {
    switch (status) {
    case VP8_STATUS_OUT_OF_MEMORY: return "out of memory";
    case VP8_STATUS_UNSUPPORTED_FEATURE: return "it has a feature that libwebp does not know";
    case VP8_STATUS_SUSPENDED:
    case VP8_STATUS_NOT_ENOUGH_DATA: return "the file ends early";
    default: return "its bitstream is corrupt";
    }
}

bool lk_webp_read_header(const uint8_t *bytes, size_t count, lk_image_header *header, char *message) {
    WebPBitstreamFeatures features;
    VP8StatusCode status = WebPGetFeatures(bytes, count, &features);
    if (status != VP8_STATUS_OK) {
        snprintf(message, LK_CODEC_MESSAGE_LENGTH, "%s", reason(status));
        return false;
    }
    memset(header, 0, sizeof *header);
    header->width = (uint32_t)features.width;
    header->height = (uint32_t)features.height;
    header->channels = features.has_alpha ? 4 : 3;
    header->orientation = 1;
    header->scans = 1;
    // Lossless files are decoded from the pixels of the whole image, and so is the alpha of lossy ones.
    uint64_t bytes_per_pixel = features.format == 2 ? 4 : features.has_alpha ? 1 : 0;
    header->working_bytes = bytes_per_pixel * header->width * header->height;
    return true;
}

bool lk_webp_decode(const uint8_t *bytes, size_t count, const lk_image_header *header, uint8_t *pixels, size_t stride,
                    char *message) {
    WebPDecoderConfig config;
    if (!WebPInitDecoderConfig(&config)) {
        snprintf(message, LK_CODEC_MESSAGE_LENGTH, "libwebp has another version than its headers");
        return false;
    }
    VP8StatusCode status = WebPGetFeatures(bytes, count, &config.input);
    if (status == VP8_STATUS_OK) {
        bool is_reduced =
            (uint32_t)config.input.width != header->width || (uint32_t)config.input.height != header->height;
        config.options.use_scaling = is_reduced;
        config.options.scaled_width = (int)header->width;
        config.options.scaled_height = (int)header->height;
        config.output.colorspace = header->channels == 4 ? MODE_RGBA : MODE_RGB;
        config.output.is_external_memory = 1;
        config.output.u.RGBA.rgba = pixels;
        config.output.u.RGBA.stride = (int)stride;
        config.output.u.RGBA.size = stride * header->height;
        status = WebPDecode(bytes, count, &config);
        WebPFreeDecBuffer(&config.output);
    }
    if (status != VP8_STATUS_OK) snprintf(message, LK_CODEC_MESSAGE_LENGTH, "%s", reason(status));
    return status == VP8_STATUS_OK;
}

#endif
