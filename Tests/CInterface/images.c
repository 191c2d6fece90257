// Images and prints.
//
//     images IMAGE: an image file
#include "check.h"

#include <math.h>
#include <sys/wait.h>
#include <unistd.h>

enum { WIDTH = 40, HEIGHT = 30, GAP = 5 };

static uint8_t pixels[HEIGHT][WIDTH * 4 + GAP];

static lookalike_pixels described(int32_t format) {
    return (lookalike_pixels){
        .data = pixels, .width = WIDTH, .height = HEIGHT, .bytes_per_row = sizeof pixels[0], .format = format};
}

// A resized image of one color has it, and the mean of a gray ramp stays.
static void check_resize(void) {
    for (int y = 0; y < HEIGHT; y += 1)
        for (int x = 0; x < WIDTH; x += 1) {
            const uint8_t color[] = {10, 200, 90, 255};
            memcpy(pixels[y] + 4 * x, color, 4);
        }
    uint8_t rgb[7 * 5 * 3];
    for (int32_t format = LOOKALIKE_RGBA8; format <= LOOKALIKE_BGRA8; format += 1) {
        lookalike_pixels rgba = described(format);
        lookalike_image *image = lookalike_image_wrap(&rgba);
        int64_t width, height;
        CHECK(image && lookalike_image_size(image, &width, &height) && width == WIDTH && height == HEIGHT);
        CHECK(lookalike_image_resize(image, 7, 5, rgb));
        for (int index = 0; index < 35; index += 1) {
            int red = rgb[3 * index], blue = rgb[3 * index + 2];
            CHECK(rgb[3 * index + 1] == 200 && red == (format == LOOKALIKE_RGBA8 ? 10 : 90) && red + blue == 100);
        }
        REFUSED(lookalike_image_resize(image, 0, 5, rgb), "0×5");
        REFUSED(lookalike_image_resize(image, 65536, 1, rgb), "65536");
        REFUSED(lookalike_image_resize(image, 65535, 65535, rgb), "2^28");
        REFUSED(lookalike_image_resize(image, 7, 5, NULL), "NULL");
        lookalike_image_free(image);
    }
    for (int y = 0; y < HEIGHT; y += 1)
        for (int x = 0; x < WIDTH; x += 1) pixels[y][x] = (uint8_t)(2 * x + 3 * y);
    lookalike_pixels gray = described(LOOKALIKE_GRAY8);
    lookalike_image *image = lookalike_image_wrap(&gray);
    CHECK(lookalike_image_resize(image, 1, 1, rgb) && rgb[0] == rgb[1] && rgb[1] == rgb[2]);
    CHECK(abs(rgb[0] - (WIDTH - 1) - 3 * (HEIGHT - 1) / 2) <= 2);
    lookalike_image_free(image);
}

static void check_refusals(void) {
    lookalike_pixels good = described(LOOKALIKE_RGB8), bad = good;
    REFUSED(lookalike_image_wrap(NULL), "NULL");
    bad.data = NULL;
    REFUSED(lookalike_image_wrap(&bad), "NULL");
    const int64_t wrong[] = {0, -1, 65536, INT64_MAX, INT64_MIN};
    for (int index = 0; index < 5; index += 1) {
        bad = good;
        bad.width = wrong[index];
        REFUSED(lookalike_image_wrap(&bad), "sides");
        bad = good;
        bad.height = wrong[index];
        REFUSED(lookalike_image_wrap(&bad), "sides");
    }
    const int64_t strides[] = {1, -200, INT64_MAX, INT64_MIN};
    for (int index = 0; index < 4; index += 1) {
        bad = good;
        bad.bytes_per_row = strides[index];
        REFUSED(lookalike_image_wrap(&bad), "bytes per row");
    }
    bad = good;
    bad.format = 4;
    REFUSED(lookalike_image_wrap(&bad), "lookalike_pixel_format");
    bad = good;
    bad.alpha = -1;
    REFUSED(lookalike_image_wrap(&bad), "lookalike_alpha");
    REFUSED(lookalike_image_read("/no/such.jpg", NULL), "/no/such.jpg");
    CHECK(lookalike_last_error_kind() == LOOKALIKE_ERROR_IMAGE);
    REFUSED(lookalike_image_read("\xff", NULL), "UTF-8");
    REFUSED(lookalike_image_decode(pixels, sizeof pixels, NULL), "image");
    REFUSED(lookalike_image_decode(pixels, SIZE_MAX, NULL), "bytes");
    REFUSED(lookalike_image_size(NULL, NULL, NULL), "NULL");
    REFUSED(lookalike_model_open("/no/such.safetensors"), "/no/such.safetensors");
    REFUSED(lookalike_model_dimension(NULL) != 0, "NULL");
    REFUSED(lookalike_model_digest(NULL), "NULL");
    lookalike_image_free(NULL);
    lookalike_model_free(NULL);
    lookalike_string_free(NULL);
}

static void check_prints(const char *path) {
    lookalike_model *model = lookalike_model_open(NULL);
    CHECK(model && strlen(lookalike_model_digest(model)) == 64);
    int64_t dimension = lookalike_model_dimension(model);
    CHECK(dimension > 0);
    FILE *file = fopen(path, "rb");
    CHECK(file);
    static uint8_t bytes[1 << 22];
    size_t size = fread(bytes, 1, sizeof bytes, file);
    fclose(file);
    lookalike_pixels gray = described(LOOKALIKE_GRAY8);
    lookalike_image *images[] = {lookalike_image_read(path, model), lookalike_image_decode(bytes, size, model),
                                 lookalike_image_wrap(&gray)};
    CHECK(images[0] && images[1] && images[2]);
    float *prints = malloc(3 * (size_t)dimension * sizeof *prints);
    CHECK(lookalike_model_embed(model, (const lookalike_image *const *)images, 3, 0, prints));
    double norm = 0;
    for (int64_t index = 0; index < dimension; index += 1) norm += (double)prints[index] * prints[index];
    CHECK(fabs(norm - 1) < 1e-3);
    CHECK(memcmp(prints, prints + dimension, (size_t)dimension * sizeof *prints) == 0);
    CHECK(memcmp(prints, prints + 2 * dimension, (size_t)dimension * sizeof *prints) != 0);
    REFUSED(lookalike_model_embed(model, NULL, 3, 0, prints), "NULL");
    const char *wrong[] = {"{}",
                           "no labels",
                           "{\"labels\": [\"a\"], \"template\": \"x\"}",
                           "template",
                           "{\"labels\": [\"a\"], \"limit\": -1}",
                           "negative",
                           "{\"labels\": [\"a\"]}",
                           "images alone"};
    for (int index = 0; index < 8; index += 2)
        REFUSED(lookalike_model_label(model, (const lookalike_image *const *)images, 3, wrong[index]),
                wrong[index + 1]);
    REFUSED(lookalike_model_embed(model, (const lookalike_image *const *)images, -3, 0, prints), "-3");
    pid_t child = fork();
    if (child == 0) {
        alarm(60);
        REFUSED(lookalike_model_embed(model, (const lookalike_image *const *)images, 3, 0, prints), "forked");
        // A model of the child's own.
        lookalike_model *own = lookalike_model_open(NULL);
        CHECK(own && lookalike_model_embed(own, (const lookalike_image *const *)images, 1, 0, prints + dimension));
        CHECK(memcmp(prints, prints + dimension, (size_t)dimension * sizeof *prints) == 0);
        _exit(0);
    }
    int status = -1;
    CHECK(waitpid(child, &status, 0) == child && status == 0);
    for (int index = 0; index < 3; index += 1) lookalike_image_free(images[index]);
    free(prints);
    lookalike_model_free(model);
}

int main(int count, char **arguments) {
    CHECK(count == 2);
    check_resize();
    check_refusals();
    check_prints(arguments[1]);
    return 0;
}
