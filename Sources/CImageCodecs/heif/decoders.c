#ifdef LK_HEIF

#include "decoders.h"

#include <pthread.h>
#include <string.h>

const struct heif_error lk_heif_success = {heif_error_Ok, heif_suberror_Unspecified, "Success"};

struct heif_error lk_heif_decoder_error(const char *reason) {
    return (struct heif_error){heif_error_Decoder_plugin_error, heif_suberror_Unspecified, reason};
}

struct heif_error lk_heif_size_error(void) {
    return (struct heif_error){heif_error_Decoder_plugin_error, heif_suberror_Security_limit_exceeded,
                               "its image is larger than its header says"};
}

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_once_t registration = PTHREAD_ONCE_INIT;
static bool is_registered;
static lk_heif_call *calls;
static _Thread_local lk_heif_call *innermost;

// Before 1.16, libheif asks for a decoder by name at the main image alone, not at its tiles and its alpha channel. It
// then has decoders of a file, of which that with the highest priority is chosen.
static bool has_decoders_of_a_file(void) {
    return heif_get_version_number_major() == 1 && heif_get_version_number_minor() < 16;
}

int lk_heif_priority(void) { return has_decoders_of_a_file() ? 1000 : 1; }

static void register_decoders(void) {
    // Never undone, so that a program which uses libheif, too, and is done with it does not unload the decoders.
    is_registered = heif_init(NULL).code == heif_error_Ok &&
                    heif_register_decoder_plugin(&lk_heif_av1_decoder).code == heif_error_Ok &&
                    heif_register_decoder_plugin(&lk_heif_hevc_decoder).code == heif_error_Ok;
}

bool lk_heif_use_decoders(struct heif_context *context) {
    if (has_decoders_of_a_file())
        return heif_register_decoder(context, &lk_heif_av1_decoder).code == heif_error_Ok &&
               heif_register_decoder(context, &lk_heif_hevc_decoder).code == heif_error_Ok;
    // Decoders of 1.21 and later have functions that these lack. Since 1.19 libheif bounds sizes itself.
    if (heif_get_version_number_major() == 1 && heif_get_version_number_minor() >= 21) return false;
    pthread_once(&registration, register_decoders);
    return is_registered;
}

void lk_heif_begin_call(lk_heif_call *call) {
    call->outer = innermost;
    innermost = call;
    pthread_mutex_lock(&mutex);
    call->next = calls;
    calls = call;
    pthread_mutex_unlock(&mutex);
}

void lk_heif_end_call(lk_heif_call *call) {
    innermost = call->outer;
    pthread_mutex_lock(&mutex);
    lk_heif_call **link = &calls;
    while (*link != call) link = &(*link)->next;
    *link = call->next;
    pthread_mutex_unlock(&mutex);
}

uint64_t lk_heif_most_bytes(void) {
    if (innermost) return innermost->most_bytes;
    uint64_t most = 0;
    pthread_mutex_lock(&mutex);
    for (const lk_heif_call *call = calls; call; call = call->next)
        if (call->most_bytes > most) most = call->most_bytes;
    pthread_mutex_unlock(&mutex);
    return most;
}

static struct heif_error copy_planes(const lk_coded_image *coded, struct heif_image *image) {
    const enum heif_channel channels[] = {heif_channel_Y, heif_channel_Cb, heif_channel_Cr};
    for (int i = 0; i < 3 && coded->planes[i]; i++) {
        const bool is_halved_across = i > 0 && coded->chroma != heif_chroma_444;
        const bool is_halved_down = i > 0 && coded->chroma == heif_chroma_420;
        const int width = (coded->width + is_halved_across) >> is_halved_across;
        const int height = (coded->height + is_halved_down) >> is_halved_down;
        // The text of its error ends with the image.
        if (heif_image_add_plane(image, channels[i], width, height, coded->depth).code != heif_error_Ok)
            return lk_heif_decoder_error("out of memory");
        int stride = 0;
        uint8_t *to = heif_image_get_plane(image, channels[i], &stride);
        if (!to) return lk_heif_decoder_error("out of memory");
        const size_t row = (size_t)width * (coded->depth > 8 ? 2 : 1);
        for (int y = 0; y < height; y++)
            memcpy(to + (ptrdiff_t)y * stride, coded->planes[i] + y * coded->strides[i], row);
    }
    return lk_heif_success;
}

static struct heif_error set_code_points(const lk_coded_image *coded, bool is_strict, struct heif_image *image) {
    struct heif_color_profile_nclx *nclx = heif_nclx_color_profile_alloc();
    if (!nclx) return lk_heif_decoder_error("out of memory");
    const bool are_known =
        heif_nclx_color_profile_set_color_primaries(nclx, (uint16_t)coded->primaries).code == heif_error_Ok &&
        heif_nclx_color_profile_set_transfer_characteristics(nclx, (uint16_t)coded->transfer).code == heif_error_Ok &&
        heif_nclx_color_profile_set_matrix_coefficients(nclx, (uint16_t)coded->matrix).code == heif_error_Ok;
    nclx->full_range_flag = coded->is_full_range;
    const bool is_set = are_known && heif_image_set_nclx_color_profile(image, nclx).code == heif_error_Ok;
    heif_nclx_color_profile_free(nclx);
    return is_set || !is_strict ? lk_heif_success : lk_heif_decoder_error("its code points of color are unknown");
}

struct heif_error lk_heif_copy_image(const lk_coded_image *coded, bool is_strict, struct heif_image **image) {
    struct heif_image *copy = NULL;
    const bool is_gray = coded->chroma == heif_chroma_monochrome;
    if (heif_image_create(coded->width, coded->height, is_gray ? heif_colorspace_monochrome : heif_colorspace_YCbCr,
                          coded->chroma, &copy)
            .code != heif_error_Ok)
        return lk_heif_decoder_error("out of memory");
    struct heif_error error = copy_planes(coded, copy);
    if (error.code == heif_error_Ok) error = set_code_points(coded, is_strict, copy);
    if (error.code == heif_error_Ok) *image = copy;
    else heif_image_release(copy);
    return error;
}

#endif
