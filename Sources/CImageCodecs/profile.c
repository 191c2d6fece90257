// lcms2: ICC profiles with tables.

#ifdef LK_COLOR_MANAGEMENT

#include <lcms2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "CImageCodecs.h"

static void keep_error(cmsContext context, cmsUInt32Number code, const char *text) {
    (void)code;
    char *message = cmsGetContextUserData(context);
    if (!message[0]) snprintf(message, LK_CODEC_MESSAGE_LENGTH, "%s", text);
}

static bool convert(cmsHTRANSFORM transform, uint8_t *pixels, uint32_t width, uint32_t height, uint32_t channels,
                    bool is_cmyk) {
    if (!is_cmyk) {
        for (uint32_t y = 0; y < height; y++) {
            uint8_t *row = pixels + (size_t)y * width * channels;
            cmsDoTransform(transform, row, row, width);
        }
        return true;
    }
    uint8_t *line = malloc((size_t)width * 3);
    if (!line) return false;
    for (uint32_t y = 0; y < height; y++) {
        cmsDoTransform(transform, pixels + (size_t)y * width * 4, line, width);
        memcpy(pixels + (size_t)y * width * 3, line, (size_t)width * 3);
    }
    free(line);
    return true;
}

bool lk_convert_profile(const uint8_t *profile, size_t profile_count, uint8_t *pixels, uint32_t width, uint32_t height,
                        uint32_t channels, bool is_cmyk, bool is_inverted, char *message) {
    // A context of its own: the library's global one is shared between threads.
    cmsContext context = profile_count <= UINT32_MAX ? cmsCreateContext(NULL, message) : NULL;
    if (!context) {
        snprintf(message, LK_CODEC_MESSAGE_LENGTH, "out of memory");
        return false;
    }
    cmsSetLogErrorHandlerTHR(context, keep_error);
    cmsHPROFILE from = cmsOpenProfileFromMemTHR(context, profile, (cmsUInt32Number)profile_count);
    cmsHPROFILE to = cmsCreate_sRGBProfileTHR(context);
    cmsHTRANSFORM transform = NULL;
    if (from && to) {
        cmsUInt32Number format = is_cmyk && is_inverted ? TYPE_CMYK_8_REV
                                 : is_cmyk              ? TYPE_CMYK_8
                                 : channels == 4        ? TYPE_RGBA_8
                                                        : TYPE_RGB_8;
        cmsUInt32Number result = is_cmyk || channels == 3 ? TYPE_RGB_8 : TYPE_RGBA_8;
        transform = cmsCreateTransformTHR(context, from, format, to, result, INTENT_PERCEPTUAL, 0);
    }
    bool is_done = transform && convert(transform, pixels, width, height, channels, is_cmyk);
    if (transform) cmsDeleteTransform(transform);
    if (from) cmsCloseProfile(from);
    if (to) cmsCloseProfile(to);
    cmsDeleteContext(context);
    if (!is_done && !message[0]) snprintf(message, LK_CODEC_MESSAGE_LENGTH, "lcms2 does not accept it");
    return is_done;
}

#endif
