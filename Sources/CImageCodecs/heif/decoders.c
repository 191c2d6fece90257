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
static lk_heif_call *calls;

static void register_decoders(void) {
    // Never undone, so that a program which uses libheif, too, and is done with it does not unload the decoders.
    heif_init(NULL);
    heif_register_decoder_plugin(&lk_heif_av1_decoder);
    heif_register_decoder_plugin(&lk_heif_hevc_decoder);
}

void lk_heif_begin_call(lk_heif_call *call) {
    pthread_once(&registration, register_decoders);
    pthread_mutex_lock(&mutex);
    call->next = calls;
    calls = call;
    pthread_mutex_unlock(&mutex);
}

void lk_heif_end_call(lk_heif_call *call) {
    pthread_mutex_lock(&mutex);
    lk_heif_call **link = &calls;
    while (*link != call) link = &(*link)->next;
    *link = call->next;
    pthread_mutex_unlock(&mutex);
}

uint64_t lk_heif_most_pixels(void) {
    uint64_t most = 0;
    pthread_mutex_lock(&mutex);
    for (const lk_heif_call *call = calls; call; call = call->next)
        if (call->most_pixels > most) most = call->most_pixels;
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
        const struct heif_error error = heif_image_add_plane(image, channels[i], width, height, coded->depth);
        if (error.code != heif_error_Ok) return error;
        int stride = 0;
        uint8_t *to = heif_image_get_plane(image, channels[i], &stride);
        if (!to) return lk_heif_decoder_error("out of memory");
        const size_t row = (size_t)width * (coded->depth > 8 ? 2 : 1);
        for (int y = 0; y < height; y++)
            memcpy(to + (ptrdiff_t)y * stride, coded->planes[i] + y * coded->strides[i], row);
    }
    return lk_heif_success;
}

// Colors that libheif does not know are an error: their pixels mean nothing.
static struct heif_error set_code_points(const lk_coded_image *coded, struct heif_image *image) {
    struct heif_color_profile_nclx *nclx = heif_nclx_color_profile_alloc();
    if (!nclx) return lk_heif_decoder_error("out of memory");
    struct heif_error error = heif_nclx_color_profile_set_color_primaries(nclx, (uint16_t)coded->primaries);
    if (error.code == heif_error_Ok)
        error = heif_nclx_color_profile_set_transfer_characteristics(nclx, (uint16_t)coded->transfer);
    if (error.code == heif_error_Ok)
        error = heif_nclx_color_profile_set_matrix_coefficients(nclx, (uint16_t)coded->matrix);
    nclx->full_range_flag = coded->is_full_range;
    if (error.code == heif_error_Ok) error = heif_image_set_nclx_color_profile(image, nclx);
    heif_nclx_color_profile_free(nclx);
    return error;
}

struct heif_error lk_heif_copy_image(const lk_coded_image *coded, struct heif_image **image) {
    struct heif_image *copy = NULL;
    const bool is_gray = coded->chroma == heif_chroma_monochrome;
    struct heif_error error =
        heif_image_create(coded->width, coded->height, is_gray ? heif_colorspace_monochrome : heif_colorspace_YCbCr,
                          coded->chroma, &copy);
    if (error.code != heif_error_Ok) return error;
    error = copy_planes(coded, copy);
    if (error.code == heif_error_Ok) error = set_code_points(coded, copy);
    if (error.code == heif_error_Ok) *image = copy;
    else heif_image_release(copy);
    return error;
}

#endif
