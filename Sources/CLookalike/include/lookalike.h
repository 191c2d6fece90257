// The C interface of Lookalike: nearest neighbors of arrays, distances, resizing, feature prints, and catalogs.
//
//     lookalike_matrix rows = {.data = floats, .rows = 100000, .columns = 256, .type = LOOKALIKE_FLOAT32};
//     lookalike_exact_search *search = lookalike_exact_search_create(&rows, false);
//     if (!search) fprintf(stderr, "%s\n", lookalike_error());
//
// Errors. A function that returns a pointer returns NULL, and one that returns a bool returns false, if it failed;
// lookalike_error() then says why. Sizes, strides, numbers and null pointers are checked. That memory is as large as a
// size says, and that a handle was not freed, cannot be.
//
// Ownership. A function that ends in _create, _wrap, _read, _decode or _open returns a handle, which its _free takes
// back; _free takes NULL, too. Everything else belongs to the caller, and is used during the call alone unless the
// function says otherwise.
//
// Threads. Handles do not change: any number of threads may use one, until one thread frees it. `threads` is the most
// threads that a call computes on, its own among them; 0 for those that have nothing else to do. Results do not depend
// on it.
//
// Forks. The child of a fork may go on with arrays and images, in one thread. Models and catalogs that the parent has
// opened are an error there, and so is every catalog if the parent has opened one.

#ifndef LOOKALIKE_H
#define LOOKALIKE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

// The version of this interface. It changes if programs have to be compiled again.
#define LOOKALIKE_INTERFACE_VERSION 1

// The LOOKALIKE_INTERFACE_VERSION of the library that runs.
int32_t lookalike_interface_version(void);

// The version of the package, such as “1.2.0”. It lives as long as the process.
const char *lookalike_version(void);

// Why the last call of this thread that failed did: a sentence in UTF-8, empty if none did. It is valid until the next
// call of this thread that fails.
const char *lookalike_error(void);

// Frees a string that a function has returned to be freed.
void lookalike_string_free(char *string);

// Matrices

typedef enum lookalike_type {
    LOOKALIKE_FLOAT32 = 0,
    // IEEE 754 binary16.
    LOOKALIKE_FLOAT16 = 1,
    LOOKALIKE_INT8 = 2,
} lookalike_type;

// A matrix in memory of the caller.
//
// All numbers have to be finite, and the norms of rows at most 2^60.
typedef struct lookalike_matrix {
    // The first number. NULL if there are no rows.
    const void *data;
    // At least 0.
    int64_t rows;
    // The dimension, 1 to 65,536.
    int64_t columns;
    // The distance of rows, and of the numbers of a row, in bytes. It may be negative. 0 for numbers without gaps.
    int64_t row_stride;
    int64_t column_stride;
    // A lookalike_type.
    int32_t type;
} lookalike_matrix;

// Exact nearest neighbors

// Rows that queries are compared with, all of them: no neighbor is missed.
typedef struct lookalike_exact_search lookalike_exact_search;

// Makes a search of rows.
//
// Float32 and float16 rows without gaps are used in place if `in_place` is true: their memory must stay valid, and must
// not change, until the search is freed. Other rows are copied, int8 to 2 bytes per number. Besides, a search takes a
// byte per number, and 12 per row. O(rows * columns).
lookalike_exact_search *lookalike_exact_search_create(const lookalike_matrix *rows, bool in_place, int32_t threads);

// Finds the `k` nearest rows of each query by Euclidean distance, nearest first; of equally near rows, the earlier one
// first.
//
// Queries may have another type than the rows; they are float32 numbers then. `rows` and `distances` get k numbers per
// query: indices of rows from 0, and distances. If there are fewer than k rows, the rest are -1 and infinity.
// `distances` may be NULL. Distances are those of float32 arithmetic, the same for one query and for many.
bool lookalike_exact_search_nearest(const lookalike_exact_search *search, const lookalike_matrix *queries, int64_t k,
                                    int32_t threads, int64_t *rows, float *distances);

void lookalike_exact_search_free(lookalike_exact_search *search);

// Approximate nearest neighbors

// Rows in lists, of which a search reads a small part. From some 100,000 rows on it is faster than an exact search.
typedef struct lookalike_inverted_file lookalike_inverted_file;

// Divides rows into lists, at most 2^32 rows.
//
// Memory is used as by lookalike_exact_search_create, and about 50 bytes more per row of 256 numbers. `lists` is the
// number of lists, 0 for the default, 2 √rows. O(rows * lists * columns).
lookalike_inverted_file *lookalike_inverted_file_create(const lookalike_matrix *rows, bool in_place, int64_t lists,
                                                        int32_t threads);

// Finds rows as lookalike_exact_search_nearest does, of which some may be missing; others take their places.
//
// `recall` is the share of the nearest rows that a search shall find, 0 to 1, such as 0.99. With 1 all rows are
// compared.
bool lookalike_inverted_file_nearest(const lookalike_inverted_file *file, const lookalike_matrix *queries, int64_t k,
                                     double recall, int32_t threads, int64_t *rows, float *distances);

void lookalike_inverted_file_free(lookalike_inverted_file *file);

// Distances

// Writes the Euclidean distances between all rows of two matrices with the same number of columns: `a.rows` lines of
// `b.rows` distances. They are within some 1e-4 of themselves.
bool lookalike_distances(const lookalike_matrix *a, const lookalike_matrix *b, int32_t threads, float *distances);

// Images

typedef enum lookalike_pixel_format {
    LOOKALIKE_GRAY8 = 0,
    LOOKALIKE_RGB8 = 1,
    LOOKALIKE_RGBA8 = 2,
    LOOKALIKE_BGRA8 = 3,
} lookalike_pixel_format;

// The meaning of the fourth byte of a pixel. Transparent pixels are composited over white.
typedef enum lookalike_alpha {
    // Colors are independent of alpha, as in PNG.
    LOOKALIKE_ALPHA_STRAIGHT = 0,
    // Colors are multiplied with alpha.
    LOOKALIKE_ALPHA_PREMULTIPLIED = 1,
    // Every pixel is opaque.
    LOOKALIKE_ALPHA_IGNORED = 2,
} lookalike_alpha;

// Pixels of sRGB in memory of the caller, rows from the top.
typedef struct lookalike_pixels {
    const void *data;
    // 1 to 65,535 each, and at most 2^28 pixels.
    int64_t width;
    int64_t height;
    // The distance of rows, at least that of their pixels. 0 for rows without gaps.
    int64_t bytes_per_row;
    // A lookalike_pixel_format, and a lookalike_alpha.
    int32_t format;
    int32_t alpha;
} lookalike_pixels;

typedef struct lookalike_image lookalike_image;
typedef struct lookalike_model lookalike_model;

// Makes an image of pixels, which are not copied: their memory must stay valid, and must not change, until the image is
// freed. O(1).
lookalike_image *lookalike_image_wrap(const lookalike_pixels *pixels);

// Decodes an image file, upright and in sRGB. The path is UTF-8.
//
// For a model, large files are decoded at the reduced size that it needs, as the command does. With NULL they are
// decoded at their full size.
lookalike_image *lookalike_image_read(const char *path, const lookalike_model *model);

// Decodes the bytes of an image file, which are used during the call alone.
lookalike_image *lookalike_image_decode(const void *bytes, size_t size, const lookalike_model *model);

// Writes the size in pixels. Either may be NULL.
bool lookalike_image_size(const lookalike_image *image, int64_t *width, int64_t *height);

// Resizes an image, antialiased, and writes `width * height` pixels of red, green and blue in sRGB, 8 bits each.
bool lookalike_image_resize(const lookalike_image *image, int64_t width, int64_t height, uint8_t *rgb);

void lookalike_image_free(lookalike_image *image);

// Models and feature prints

// Opens a model file, whose path is UTF-8; with NULL the default model, from the places where the command looks
// for it, such as the folder that the environment variable LOOKALIKE_MODEL names, and /usr/share/lookalike.
lookalike_model *lookalike_model_open(const char *path);

// The number of components of a print; 0 for NULL.
int64_t lookalike_model_dimension(const lookalike_model *model);

// SHA-256 of the model, hexadecimal: only prints of the same model can be compared. It lives as long as the handle.
const char *lookalike_model_digest(const lookalike_model *model);

// Writes the feature print of each image: unit vectors of lookalike_model_dimension numbers, one after another.
bool lookalike_model_embed(const lookalike_model *model, const lookalike_image *const *images, int64_t count,
                           int32_t threads, float *prints);

void lookalike_model_free(lookalike_model *model);

// Catalogs

// A catalog that the command or Swift indexes. Searches see what is indexed meanwhile.
typedef struct lookalike_catalog lookalike_catalog;

// Opens the catalog in a folder, whose path is UTF-8.
//
// `model` is the model of its prints; with NULL the copy in the folder, or the default model. It may be freed before
// the catalog.
lookalike_catalog *lookalike_catalog_open(const char *path, const lookalike_model *model);

// The number of entities; -1 if it fails.
int64_t lookalike_catalog_count(const lookalike_catalog *catalog);

// Searches a catalog for what an image shows, and returns JSON as “lookalike search --json” does: an object whose
// “results” are the matches, surest first. Free it with lookalike_string_free.
//
// `options` is NULL, or a JSON object with some of these members:
//     limit          the maximum number of matches, 10 by default
//     effort         “prints”, “standard” or “thorough”
//     where          a condition on entities, such as "price < 20"
//     minConfidence  replaces the default decision, which accepts matches from 0.5
char *lookalike_catalog_search(const lookalike_catalog *catalog, const lookalike_image *image, const char *options);

// The same for an image file, which is decoded as the search needs it.
char *lookalike_catalog_search_file(const lookalike_catalog *catalog, const char *path, const char *options);

// Returns the first `limit` entities that satisfy a condition, or of all with NULL, as a JSON array. Free it with
// lookalike_string_free.
char *lookalike_catalog_list(const lookalike_catalog *catalog, const char *condition, int64_t limit);

void lookalike_catalog_free(lookalike_catalog *catalog);

#ifdef __cplusplus
}
#endif

#endif
