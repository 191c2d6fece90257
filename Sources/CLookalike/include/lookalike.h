// The C interface of Lookalike: nearest neighbors of arrays, distances, resizing, feature prints, and catalogs.
//
//     lookalike_matrix rows = {.data = floats, .rows = 100000, .columns = 256, .type = LOOKALIKE_FLOAT32};
//     lookalike_exact_search *search = lookalike_exact_search_create(&rows, false);
//     if (!search) fprintf(stderr, "%s\n", lookalike_error());
//
// Errors. A function that returns a pointer returns NULL, one that returns a bool returns false, and one that returns a
// number of entities returns -1, if it failed; lookalike_error() then says why. Sizes, strides, numbers and null
// pointers are checked. That memory is as large as a size says, and that a handle was not freed, cannot be.
//
// Ownership. A function that ends in _create, _wrap, _read, _decode or _open returns a handle, which its _free takes
// back; _free takes NULL, too. A function that returns char * returns a string, which lookalike_string_free takes back.
// Everything else belongs to the caller, and is used during the call alone unless the function says otherwise.
//
// Threads. Any number of threads may use a handle, until one thread frees it. `threads` is the most threads that a call
// computes on, its own among them; 0 for those that have nothing else to do. Results do not depend on it.
//
// Forks. The child of a fork may go on with arrays and images, in one thread. Models that the parent has opened are an
// error there, and so is every catalog if the parent has called any of these functions that can fail.
//
// JSON. Entities, options and answers are JSON in UTF-8. Options may be NULL; a member that is not described is an
// error.

#ifndef LOOKALIKE_H
#define LOOKALIKE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

// The version of this interface. It changes if programs have to be compiled again.
#define LOOKALIKE_INTERFACE_VERSION 2

// The LOOKALIKE_INTERFACE_VERSION of the library that runs.
int32_t lookalike_interface_version(void);

// The version of the package, such as “1.2.0”. It lives as long as the process.
const char *lookalike_version(void);

// Why the last call of this thread that failed did: a sentence in UTF-8, empty if none did. It is valid until the next
// call of this thread that fails.
const char *lookalike_error(void);

typedef enum lookalike_error_kind {
    LOOKALIKE_ERROR_OTHER = 0,
    // An image cannot be read or decoded; everything else goes on.
    LOOKALIKE_ERROR_IMAGE = 1,
    // The function that lookalike_set_interrupt was given has ended the call.
    LOOKALIKE_ERROR_INTERRUPTED = 2,
} lookalike_error_kind;

// The lookalike_error_kind of lookalike_error().
int32_t lookalike_last_error_kind(void);

// Lets the caller end long calls of this thread: those of catalogs and indexers, but for changes of metadata and
// removals. They ask about every 50 ms, on the thread that calls, whether they are interrupted, and fail soon after. An
// index run keeps what it has indexed. NULL for no function, as in a new thread.
void lookalike_set_interrupt(bool (*is_interrupted)(void *context), void *context);

// Lets the caller of index runs and evaluations of this thread know how many items are done, of how many; `total` is -1
// for items that a function gives. It is called on the thread that calls, when what is done was stored. NULL for no
// function, as in a new thread.
void lookalike_set_progress(void (*progress)(void *context, int64_t done, int64_t total), void *context);

// Frees a string, or the bytes of a thumbnail, that a function has returned to be freed. NULL is taken, too.
void lookalike_string_free(void *string);

// Matrices

typedef enum lookalike_type {
    LOOKALIKE_FLOAT32 = 0,
    // IEEE 754 binary16.
    LOOKALIKE_FLOAT16 = 1,
    LOOKALIKE_INT8 = 2,
} lookalike_type;

// A matrix in memory of the caller.
//
// All numbers have to be finite, and the norms of rows 0, or 2^-50 to 2^60.
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
// compared, and so they are with a query that is longer than the rows.
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

// Opens a model file, whose path is UTF-8; with NULL the default model, from the folder of this library, or the
// places where the command looks for it, such as the folder that the environment variable LOOKALIKE_MODEL names, which
// comes first, and /usr/share/lookalike.
lookalike_model *lookalike_model_open(const char *path);

// The number of components of a print; 0 for NULL.
int64_t lookalike_model_dimension(const lookalike_model *model);

// SHA-256 of the model, hexadecimal: only prints of the same model can be compared. It lives as long as the handle.
const char *lookalike_model_digest(const lookalike_model *model);

// Writes the feature print of each image: unit vectors of lookalike_model_dimension numbers, one after another.
bool lookalike_model_embed(const lookalike_model *model, const lookalike_image *const *images, int64_t count,
                           int32_t threads, float *prints);

// Ranks labels for images, by a model that reads texts, and returns a JSON array with an array per image. Its elements
// are objects with a “label”, the “distance” of its print, and, if the model gives one, a “probability”, as
// “lookalike label --json” writes them; nearest first. The options:
//     labels    an array of texts
//     template  a sentence with {} in the place of the label, such as "a photo of a {}"
//     limit     the maximum number of labels per image; all of them by default
char *lookalike_model_label(const lookalike_model *model, const lookalike_image *const *images, int64_t count,
                            const char *options);

void lookalike_model_free(lookalike_model *model);

// Catalogs

// A catalog, open for searches. They see what is indexed meanwhile, in this process or another one, and a catalog that
// was made anew at the path.
typedef struct lookalike_catalog lookalike_catalog;

// An image to search with or to index, in one of several forms: one member is given, and the others are NULL.
typedef struct lookalike_source {
    // The path of an image file.
    const char *path;
    // The bytes of an image file.
    const void *bytes;
    // The number of the bytes, or of the numbers of the print.
    size_t size;
    const lookalike_image *image;
    // A feature print that the catalog's model has made: lookalike_model_dimension numbers of a unit vector.
    const float *print;
} lookalike_source;

// Opens the catalog in a folder.
//
// `model` is the model of its prints; with NULL the copy in the folder, or the default model. It may be freed before
// the catalog. O(1), or O(entities) if a derived file is missing.
lookalike_catalog *lookalike_catalog_open(const char *path, const lookalike_model *model, int32_t threads);

// The number of entities.
int64_t lookalike_catalog_count(const lookalike_catalog *catalog);

// Returns the size and the model of a catalog as a JSON object, among them “entityCount”, “imageCount”, “dimension”,
// “model”, “typeCounts” and “attributes”.
char *lookalike_catalog_info(const lookalike_catalog *catalog);

// Finds the entities that an image shows, and returns JSON as “lookalike search --json” does: an object whose “results”
// are the matches, surest first.
//
// The query is an image or a print; or NULL, and an option says what is searched for. The options:
//     limit            the maximum number of matches, 10 by default
//     effort           “prints” or “standard”, the default
//     where            a condition on entities, such as "price < 20"
//     minConfidence    replaces the default decision, which accepts matches from 0.5
//     maxDistance      replaces it by the greatest distance of prints, 0 to 2
//     maxObjects       the maximum number of objects to find in an image, 100 by default
//     recall           the share of the nearest prints to find in a catalog with an inverted file, 0 to 1
//     codes            texts of barcodes that the image has: entities with one of them are matches
//     texts            lines of text that the image has: entities whose title has their words are matches
//     similar          a number: also return as many entities that merely resemble the query, as “similar”
//     groupDuplicates  true: fold matches with the same picture into the surest, which has the others’ ids
//     words            what the entities show, instead of or beside an image; the catalog’s model has to read texts
//     wordsWeight      the weight of the words beside an image, 0 to 1, 0.5 by default
//     similarTo        the id of an entity, instead of an image: all others, by the distance of their prints
char *lookalike_catalog_search(const lookalike_catalog *catalog, const lookalike_source *query, const char *options);

// Returns entities as a JSON array, whose elements are the lines of “lookalike catalog list --json”. They are in the
// catalog’s order, or with a text the best match first. The options:
//     where  a condition, such as "price < 20" or "has code 9783161484100"
//     text   words that the title, the subtitle or the labels have; the last one may be a prefix
//     ids    the ids of the entities, in whose order they are returned, without unknown ones; instead of the others
//     limit  the maximum number of entities; all of them by default
char *lookalike_catalog_list(const lookalike_catalog *catalog, const char *options);

// Counts the values of fields, and returns a JSON array with an object per field: its “field”, and its “values”, each
// with “value” and “count”, the most frequent first. The options are `by`, an array of fields such as "type" or the
// names of attributes, and the `where` and `text` of lookalike_catalog_list.
char *lookalike_catalog_facets(const lookalike_catalog *catalog, const char *options);

// Groups the entities that satisfy a condition, or all of them with NULL, by their pictures, and returns a JSON array
// whose elements are the lines of “lookalike catalog duplicates --json”. O(entities²) for a catalog that has changed.
char *lookalike_catalog_duplicates(const lookalike_catalog *catalog, const char *condition);

// Returns the stored thumbnail of an entity’s image, counted from 0: a JPEG file, and its size. lookalike_string_free
// takes it back.
void *lookalike_catalog_thumbnail(const lookalike_catalog *catalog, const char *id, int64_t image, size_t *size);

// Writes prints.npy, entities.jsonl and features.jsonl of the entities that satisfy a condition, or of all with NULL,
// as “lookalike catalog export” does. Returns the number of entities.
int64_t lookalike_catalog_export(const lookalike_catalog *catalog, const char *folder, const char *condition);

void lookalike_catalog_free(lookalike_catalog *catalog);

// Changes of catalogs

// A catalog, open for changes. There is one indexer per catalog at a time, in all processes: to open a second one is an
// error. Open catalogs see what has changed when a function returns.
typedef struct lookalike_indexer lookalike_indexer;

// Opens the catalog in a folder, or makes one.
//
// `model` is that of a new catalog, the default model with NULL; a catalog keeps its model. The options:
//     thumbnails     the long side of thumbnails in pixels, 256 by default, 0 for none
//     localFeatures  whether to extract local features; by default if the model uses them
//     maxMegapixels  larger images are refused, 268 by default
//     checksum       true: read unchanged files again, and compare their contents
lookalike_indexer *lookalike_indexer_open(const char *path, const lookalike_model *model, const char *options);

// An entity to index.
typedef struct lookalike_item {
    // A JSON object as a line of a manifest: “id”, and perhaps “type”, “title”, “subtitle” and “labels”; other members
    // are attributes. Without images below, “image” or “images” are the paths of files.
    const char *entity;
    // The images of the entity, the first of which is its cover. NULL for the files that it names.
    const lookalike_source *images;
    int64_t image_count;
} lookalike_item;

// Searches for labeled queries, and returns the figures of “lookalike evaluate --json” as JSON, besides the “problems”
// of queries that were not evaluated, or whose targets the catalog lacks.
//
// `next` writes the next query, as for lookalike_indexer_index. Its `entity` is a line of the queries of “lookalike
// evaluate”: “query”, which is the path of the image or, if there is one in `images`, what problems call it; and
// “target”, the id of the entity that it shows, or null; or “targets”, an array of ids; and perhaps a “group”.
// Options:
//     effort        as for lookalike_catalog_search
//     leaveOut      true: search for each query again as if the catalog did not have its targets
//     falseAccepts  a share of the queries without a target: “recommended” is the smallest confidence that accepts no
//                   more of them, and what it accepts of the others
char *lookalike_catalog_evaluate(const lookalike_catalog *catalog, bool (*next)(void *context, lookalike_item *item),
                                 void *context, const char *options);

// Indexes items that are new or changed, and returns JSON as “lookalike index --json” does: an object with the numbers
// of entities that were “added”, “updated” and “unchanged”, and the “problems” of those that were not indexed, by their
// number from 0.
//
// `next` writes the next item, which is NULL and 0 before, and returns true; or returns false at the end. It is called
// on the thread that calls. What an item points to is used until the next call, or the end of this one. The first of
// several items with the same id is indexed. The options:
//     jobs   the number of threads; all cores by default
//     prune  true: remove entities whose image files are gone, of the folders of the items’ files; their ids are
//            “removed”
//     force  true: also those whose disk may not be mounted
char *lookalike_indexer_index(lookalike_indexer *indexer, bool (*next)(void *context, lookalike_item *item),
                              void *context, const char *options);

// Indexes the images of a folder, or what a .csv, .tsv or .jsonl manifest names, as “lookalike index” does. A further
// option is `exclude`, an array of patterns that leave files and folders out. The “notes” count what was left out.
char *lookalike_indexer_index_path(lookalike_indexer *indexer, const char *path, const char *options);

// Returns the paths of the images below a folder as a JSON array: those that lookalike_indexer_index_path indexes, and
// what it would report as problems. One that is not UTF-8 ends in U+0000, so that it names no other file.
char *lookalike_folder_images(const char *folder);

// Changes the metadata of entities, all of them or none.
//
// The changes are a JSON array of objects with an “id” and what is new, as merge patches (RFC 7396): what is absent
// stays, and null and an empty text remove.
bool lookalike_indexer_update(lookalike_indexer *indexer, const char *changes);

// Removes the entities whose ids are in a JSON array; if one is unknown, none.
bool lookalike_indexer_remove(lookalike_indexer *indexer, const char *ids);

void lookalike_indexer_free(lookalike_indexer *indexer);

// Adds the entities of catalogs to that in the folder `path`, which is made if there is none, and returns JSON as
// lookalike_indexer_index does. All have the same model. Of entities with the same id, that of the last catalog stays.
// `model` is as for lookalike_catalog_open.
char *lookalike_catalog_merge(const char *path, const lookalike_model *model, const char *const *catalogs,
                              int64_t count);

// Adds entities by prints that were made before, as “lookalike catalog import” does, and returns JSON as
// lookalike_indexer_index does. Nothing is added if a row or a line cannot be used.
//
// `prints` is a .npy file with a row per image, and `entities` a .jsonl file with a line per row. `local_features` and
// `thumbnails` may be NULL, or files with a record per row: the number of bytes, 32 bits little-endian, and the bytes.
// `model` is as for lookalike_indexer_open.
char *lookalike_catalog_import(const char *path, const lookalike_model *model, const char *prints, const char *entities,
                               const char *local_features, const char *thumbnails);

#ifdef __cplusplus
}
#endif

#endif
