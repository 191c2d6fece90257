// Catalogs: what is searched, listed, counted, indexed and changed.
//
//     catalogs COVERS FOLDER: the folder of the demo's covers, and an empty one
#define _POSIX_C_SOURCE 200809L
#include "check.h"

#include <pthread.h>
#include <stdarg.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static lookalike_model *model;
static const char *covers;

// Checks that a call returns JSON with some words, and frees it.
#define ANSWERS(call, words)                                                                                           \
    do {                                                                                                               \
        char *answer = (call);                                                                                         \
        CHECK(answer);                                                                                                 \
        if (!strstr(answer, words)) fprintf(stderr, "%s\n", answer);                                                   \
        CHECK(strstr(answer, words));                                                                                  \
        lookalike_string_free(answer);                                                                                 \
    } while (0)

// A text in one of a few buffers.
__attribute__((format(printf, 1, 2))) static const char *text(const char *format, ...) {
    static char texts[64][1024];
    static int next;
    next = (next + 1) % 64;
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(texts[next], sizeof texts[next], format, arguments);
    va_end(arguments);
    return texts[next];
}

static const char *cover(const char *name) { return text("%s/%s.jpg", covers, name); }

// The bytes of a file, which the caller frees.
static void *contents(const char *path, size_t *size) {
    FILE *file = fopen(path, "rb");
    CHECK(file);
    struct stat status;
    CHECK(!fstat(fileno(file), &status));
    *size = (size_t)status.st_size;
    void *bytes = malloc(*size);
    CHECK(bytes && fread(bytes, 1, *size, file) == *size);
    fclose(file);
    return bytes;
}

// Gives copies of items, each of which is freed at the next call: what was given before is not used any more.
typedef struct given {
    const lookalike_item *items;
    int count, next;
    char *entity;
} given;

static bool give(void *context, lookalike_item *item) {
    given *all = context;
    free(all->entity);
    all->entity = NULL;
    if (all->next == all->count) return false;
    *item = all->items[all->next++];
    if (item->entity) item->entity = all->entity = strdup(item->entity);
    return true;
}

static char *index_items(lookalike_indexer *indexer, const lookalike_item *items, int count, const char *options) {
    given all = {items, count, 0, NULL};
    return lookalike_indexer_index(indexer, give, &all, options);
}

// An entity of each form of an image, which are searched by each form.
static void check_forms(const char *folder) {
    const char *path = text("%s/forms", folder);
    lookalike_indexer *indexer = lookalike_indexer_open(path, model, NULL);
    CHECK(indexer);
    size_t size;
    void *bytes = contents(cover("arcade-hymns"), &size);
    lookalike_image *image = lookalike_image_read(cover("borrowed-light"), NULL);
    lookalike_image *other = lookalike_image_read(cover("concrete-gardens"), model);
    CHECK(image && other);
    size_t dimension = (size_t)lookalike_model_dimension(model);
    float *print = malloc(dimension * sizeof *print);
    CHECK(lookalike_model_embed(model, (const lookalike_image *const *)&other, 1, 0, print));
    const lookalike_source forms[] = {{.bytes = bytes, .size = size},
                                      {.image = image},
                                      {.print = print, .size = dimension},
                                      {.path = cover("copper-horizon")}};
    const lookalike_source wrong[] = {{0},
                                      {.bytes = bytes, .size = size, .print = print},
                                      {.bytes = bytes, .size = 20},
                                      {.path = "/no/such.jpg"},
                                      {.print = print, .size = dimension - 1}};
    const lookalike_item items[] = {
        {"{\"id\": \"bytes\", \"title\": \"Arcade Hymns\", \"year\": 1998, \"gtin\": \"4006381333931\"}", forms, 1},
        {"{\"id\": \"pixels\", \"type\": \"album\", \"year\": 2001, \"image\": \"kept as it is\"}", forms + 1, 1},
        {"{\"id\": \"print\", \"type\": \"album\", \"labels\": [\"tape\"]}", forms + 2, 1},
        {"{\"id\": \"path\"}", forms + 3, 1},
        {text("{\"id\": \"named\", \"image\": \"%s\"}", cover("glass-orchard")), NULL, 0},
        {"{\"id\": \"two\"}", forms, 2},
        {"{\"id\": \"bytes\"}", forms, 1},
        {"{\"id\": \"none\"}", NULL, 0},
        {NULL, forms, 1},
        {"[]", forms, 1},
        {"{\"id\": \"empty\"}", wrong, 1},
        {"{\"id\": \"both\"}", wrong + 1, 1},
        {"{\"id\": \"cut\"}", wrong + 2, 1},
        {"{\"id\": \"missing\"}", wrong + 3, 1},
        {"{\"id\": \"short\"}", wrong + 4, 1},
        {"{\"id\": \"negative\"}", forms, -1},
        {"{\"id\": \"null\"}", NULL, 1},
    };
    char *report = index_items(indexer, items, 17, "{\"jobs\": 2}");
    CHECK(report && strstr(report, "\"added\":6,") && !strstr(report, "removed"));
    for (int item = 6; item < 17; item += 1)
        CHECK(strstr(report, text("\"subject\":\"entity %d, counted from 0\"", item)));
    CHECK(strstr(report, "as entity 0, counted from 0") && strstr(report, "/no/such.jpg"));
    lookalike_string_free(report);
    ANSWERS(index_items(indexer, items, 6, NULL), "\"unchanged\":6,");
    REFUSED(lookalike_indexer_index(indexer, NULL, NULL, NULL), "NULL");
    REFUSED(index_items(indexer, items, 1, "{\"jobs\": 0}"), "jobs");
    REFUSED(index_items(indexer, items, 1, "{\"exclude\": []}"), "exclude");
    REFUSED(lookalike_indexer_open(path, model, NULL), "another indexer");

    lookalike_catalog *catalog = lookalike_catalog_open(path, model, 0);
    CHECK(catalog && lookalike_catalog_count(catalog) == 6);
    ANSWERS(lookalike_catalog_info(catalog), "\"entityCount\":6");
    const char *only = "{\"where\": \"id in ('bytes', 'pixels', 'print', 'path')\", \"limit\": 1}";
    const char *ids[] = {"bytes", "pixels", "print", "path"};
    for (int form = 0; form < 4; form += 1) {
        ANSWERS(lookalike_catalog_search(catalog, &forms[form], only), text("\"id\":\"%s\"", ids[form]));
        REFUSED(lookalike_catalog_search(catalog, &wrong[form], NULL), "");
        CHECK(lookalike_last_error_kind() == (form < 2 ? LOOKALIKE_ERROR_OTHER : LOOKALIKE_ERROR_IMAGE));
    }
    ANSWERS(lookalike_catalog_list(catalog, "{\"ids\": [\"pixels\"]}"), "\"image\":\"kept as it is\"");
    print[0] += 1;
    REFUSED(lookalike_catalog_search(catalog, &forms[2], NULL), "print");
    lookalike_catalog_free(catalog);
    lookalike_image_free(image);
    lookalike_image_free(other);
    lookalike_indexer_free(indexer);
    free(print);
    free(bytes);
}

static void check_searches(lookalike_catalog *catalog) {
    lookalike_source query = {.path = cover("arcade-hymns")};
    char *found = lookalike_catalog_search(catalog, &query, NULL);
    CHECK(found && strstr(found, "\"results\":[{") && strstr(found, query.path));
    lookalike_string_free(found);
    ANSWERS(lookalike_catalog_search(catalog, &query, "{\"limit\": 0, \"effort\": \"prints\"}"), "\"results\":[]}");
    ANSWERS(lookalike_catalog_search(catalog, &query, "{\"where\": \"id = 'x'\"}"), "\"results\":[]}");
    ANSWERS(lookalike_catalog_search(catalog, &query, "{\"maxDistance\": 0.5, \"similar\": 2}"), "\"similar\":[{");
    ANSWERS(lookalike_catalog_search(catalog, &query, "{\"groupDuplicates\": true}"), "\"duplicates\":[");
    ANSWERS(lookalike_catalog_search(catalog, &query, "{\"recall\": 1, \"maxObjects\": 1, \"minConfidence\": 0.9}"),
            "\"id\":\"arcade-hymns\"");
    lookalike_source plain = {.path = cover("borrowed-light")};
    char *named = lookalike_catalog_search(catalog, &plain, "{\"codes\": [\"4-006381-333931\"], \"texts\": [\"x\"]}");
    CHECK(named && strstr(named, "\"id\":\"arcade-hymns\""));
    lookalike_string_free(named);
    char *similar = lookalike_catalog_search(catalog, NULL, "{\"similarTo\": \"arcade-hymns\", \"limit\": 3}");
    CHECK(similar && strstr(similar, "\"results\":[{") && !strstr(similar, "\"id\":\"arcade-hymns\""));
    lookalike_string_free(similar);
    REFUSED(lookalike_catalog_search(catalog, NULL, "{\"similarTo\": \"unknown\"}"), "unknown");
    REFUSED(lookalike_catalog_search(catalog, NULL, "{\"words\": \"a cover\"}"), "text");
    REFUSED(lookalike_catalog_search(catalog, &query, "{\"similarTo\": \"arcade-hymns\"}"), "give one");
    REFUSED(lookalike_catalog_search(catalog, NULL, NULL), "give one");
    const char *wrong[] = {"{\"limits\": 1}",
                           "limits",
                           "{\"limit\": -1}",
                           "limit",
                           "{\"effort\": \"all\"}",
                           "effort",
                           "{\"where\": \"(\"}",
                           "condition",
                           "[]",
                           "JSON",
                           "{\"limit\": \"ten\"}",
                           "JSON",
                           "{\"recall\": 2}",
                           "recall",
                           "{\"similar\": -1}",
                           "similar",
                           "\xff",
                           "no UTF-8",
                           "{\"where\": \"nothing = 1\"}",
                           "nothing"};
    for (int index = 0; index < 20; index += 2)
        REFUSED(lookalike_catalog_search(catalog, &query, wrong[index]), wrong[index + 1]);
    REFUSED(lookalike_catalog_search(NULL, &query, NULL), "catalog is NULL");
}

// Labeled queries by their paths and in memory; two of them cannot be evaluated, and the catalog lacks a target.
static void check_evaluation(lookalike_catalog *catalog) {
    size_t size;
    void *bytes = contents(cover("glass-orchard"), &size);
    const lookalike_source memory = {.bytes = bytes, .size = size}, none = {0};
    const lookalike_item items[] = {
        {text("{\"query\": \"%s\", \"targets\": [\"arcade-hymns\", \"copy\"]}", cover("arcade-hymns")), NULL, 0},
        {"{\"query\": \"bytes\", \"target\": \"glass-orchard\", \"group\": \"memory\"}", &memory, 1},
        {text("{\"query\": \"%s\", \"target\": \"unknown\"}", cover("borrowed-light")), NULL, 0},
        {"{\"query\": \"/no/such.jpg\", \"target\": null}", NULL, 0},
        {"{\"query\": \"none\", \"target\": null}", &none, 1},
        {"{\"query\": \"bytes\"}", &memory, 1},
    };
    given all = {items, 6, 0, NULL};
    char *figures = lookalike_catalog_evaluate(catalog, give, &all, "{\"leaveOut\": true, \"falseAccepts\": 0}");
    CHECK(figures && strstr(figures, "\"all\":{\"accepted\":0.6") && strstr(figures, "\"queries\":3,"));
    CHECK(strstr(figures, "\"absentQueries\":3,") && strstr(figures, "\"groups\":{\"memory\":{\"accepted\":1,"));
    CHECK(strstr(figures, "\"recommended\":{") && strstr(figures, "no entity “unknown”"));
    for (int query = 3; query < 6; query += 1) CHECK(strstr(figures, text("query %d, counted from 0", query)));
    lookalike_string_free(figures);
    ANSWERS(lookalike_catalog_evaluate(catalog, give, &all, NULL), "\"queries\":0");
    REFUSED(lookalike_catalog_evaluate(catalog, NULL, NULL, NULL), "NULL");
    REFUSED(lookalike_catalog_evaluate(catalog, give, &all, "{\"falseAccepts\": 2}"), "falseAccepts");
    free(bytes);
}

static void check_lists(lookalike_catalog *catalog, const char *folder) {
    char *list = lookalike_catalog_list(catalog, "{\"limit\": 1}");
    CHECK(list && strncmp(list, "[{", 2) == 0 && !strstr(list, "},{"));
    lookalike_string_free(list);
    ANSWERS(lookalike_catalog_list(catalog, "{\"text\": \"arcade hy\"}"), "[{\"attributes\":");
    ANSWERS(lookalike_catalog_list(catalog, "{\"text\": \"arcade\", \"where\": \"id = 'x'\"}"), "[]");
    ANSWERS(lookalike_catalog_list(catalog, "{\"where\": \"has code 04006381333931\"}"), "\"id\":\"arcade-hymns\"");
    ANSWERS(lookalike_catalog_list(catalog, "{\"ids\": [\"x\", \"arcade-hymns\"]}"), "\"id\":\"arcade-hymns\"");
    REFUSED(lookalike_catalog_list(catalog, "{\"ids\": [\"x\"], \"text\": \"x\"}"), "give one");
    REFUSED(lookalike_catalog_list(catalog, "{\"limit\": -1}"), "-1");
    REFUSED(lookalike_catalog_list(catalog, "{\"where\": \"(\"}"), "");
    REFUSED(lookalike_catalog_list(catalog, "{\"by\": [\"type\"]}"), "by");
    ANSWERS(lookalike_catalog_facets(catalog, "{\"by\": [\"type\"], \"text\": \"arcade\"}"),
            "[{\"field\":\"type\",\"values\":[{\"count\":1,\"value\":");
    REFUSED(lookalike_catalog_facets(catalog, NULL), "by");
    REFUSED(lookalike_catalog_facets(catalog, "{\"by\": [\"nothing\"]}"), "nothing");
    char *groups = lookalike_catalog_duplicates(catalog, NULL);
    CHECK(groups && strstr(groups, "\"id\":\"copy\"") && strstr(groups, "\"reference\":{\"id\":\"arcade-hymns\""));
    lookalike_string_free(groups);
    ANSWERS(lookalike_catalog_duplicates(catalog, "id != 'copy'"), "[]");
    REFUSED(lookalike_catalog_duplicates(catalog, "("), "");
    size_t size = 0;
    unsigned char *thumbnail = lookalike_catalog_thumbnail(catalog, "arcade-hymns", 0, &size);
    CHECK(thumbnail && size > 1000 && thumbnail[0] == 0xff && thumbnail[1] == 0xd8);
    lookalike_string_free(thumbnail);
    REFUSED(lookalike_catalog_thumbnail(catalog, "arcade-hymns", 1, &size), "no thumbnail");
    REFUSED(lookalike_catalog_thumbnail(catalog, "x", 0, &size), "no thumbnail");
    REFUSED(lookalike_catalog_thumbnail(catalog, "arcade-hymns", 0, NULL), "NULL");
    const char *export = text("%s/export", folder);
    CHECK(lookalike_catalog_export(catalog, export, "id in ('copy', 'arcade-hymns')") == 2);
    REFUSED(lookalike_catalog_export(catalog, "/proc/none", NULL) != -1, "/proc/none");
    const char *path = text("%s/imported", folder);
    const char *prints = text("%s/prints.npy", export), *entities = text("%s/entities.jsonl", export);
    ANSWERS(lookalike_catalog_import(path, model, prints, entities, NULL, NULL), "\"added\":2,");
    REFUSED(lookalike_catalog_import(path, model, prints, prints, NULL, NULL), "prints.npy");
    REFUSED(lookalike_catalog_import(path, model, NULL, entities, NULL, NULL), "NULL");
    lookalike_catalog *imported = lookalike_catalog_open(path, model, 1);
    lookalike_source query = {.path = cover("arcade-hymns")};
    ANSWERS(lookalike_catalog_search(imported, &query, "{\"effort\": \"prints\"}"), "\"id\":\"arcade-hymns\"");
    lookalike_catalog_free(imported);
}

static void keep_progress(void *context, int64_t done, int64_t total) {
    int64_t *kept = context;
    CHECK(done >= kept[0]);
    kept[0] = done;
    kept[1] = total;
}

static bool end_at_once(void *context) {
    *(int *)context += 1;
    return true;
}

static bool repeat_forever(void *context, lookalike_item *item) {
    static char entity[64];
    snprintf(entity, sizeof entity, "{\"id\": \"endless %d\"}", (*(int *)context)++);
    static lookalike_source image;
    static char path[1024];
    snprintf(path, sizeof path, "%s", cover("glass-orchard"));
    image.path = path;
    *item = (lookalike_item){entity, &image, 1};
    return true;
}

static void check_changes(const char *folder) {
    const char *path = text("%s/demo", folder);
    lookalike_indexer *indexer = lookalike_indexer_open(path, model, "{\"thumbnails\": 0, \"localFeatures\": false}");
    lookalike_catalog *catalog = lookalike_catalog_open(path, model, 0);
    int64_t count = lookalike_catalog_count(catalog);
    CHECK(indexer && count > 10);
    CHECK(lookalike_indexer_update(indexer, "[{\"id\": \"copy\", \"title\": \"New\", \"price\": 3, \"subtitle\": null},"
                                            " {\"id\": \"copy\", \"labels\": [\"a\"]}]"));
    ANSWERS(lookalike_catalog_list(catalog, "{\"where\": \"price < 4 and label = 'a' and title = 'New'\"}"), "copy");
    CHECK(lookalike_indexer_update(indexer, "[{\"id\": \"copy\", \"attributes\": {\"price\": null}}]"));
    const char *wrong[] = {"[{\"id\": \"unknown\"}, {\"id\": \"copy\", \"title\": \"Newer\"}]",
                           "unknown",
                           "[{\"title\": \"x\"}]",
                           "has no id",
                           "[{\"id\": \"copy\", \"image\": \"x\"}]",
                           "images",
                           "[{\"id\": \"copy\", \"attributes\": 3}]",
                           "attributes",
                           "{}",
                           "JSON",
                           "[",
                           "JSON"};
    for (int index = 0; index < 12; index += 2)
        REFUSED(lookalike_indexer_update(indexer, wrong[index]), wrong[index + 1]);
    ANSWERS(lookalike_catalog_list(catalog, "{\"ids\": [\"copy\"]}"), "\"title\":\"New\"");

    REFUSED(lookalike_indexer_remove(indexer, "[\"copy\", \"unknown\"]"), "unknown");
    REFUSED(lookalike_indexer_remove(indexer, "\"copy\""), "JSON");
    CHECK(lookalike_catalog_count(catalog) == count);
    CHECK(lookalike_indexer_remove(indexer, "[\"copy\"]") && lookalike_indexer_remove(indexer, "[]"));
    ANSWERS(lookalike_catalog_list(catalog, "{\"ids\": [\"copy\"]}"), "[]");

    // Ended by the caller: what was indexed until then stays.
    int calls = 0, given = 0;
    lookalike_set_interrupt(end_at_once, &calls);
    REFUSED(lookalike_indexer_index(indexer, repeat_forever, &given, NULL), "interrupted");
    CHECK(lookalike_last_error_kind() == LOOKALIKE_ERROR_INTERRUPTED && calls == 1);
    lookalike_set_interrupt(NULL, NULL);
    char *endless = lookalike_catalog_list(catalog, "{\"text\": \"\", \"where\": \"id starts with 'endless'\"}");
    CHECK(endless);
    lookalike_string_free(endless);

    REFUSED(lookalike_indexer_index_path(indexer, text("%s/none", folder), NULL), "none");
    // Images of a folder that is gone.
    const char *images = text("%s/images", folder);
    CHECK(!mkdir(images, 0777));
    char from[1024], to[1024];
    snprintf(from, sizeof from, "%s", cover("concrete-gardens"));
    for (int number = 0; number < 3; number += 1) {
        snprintf(to, sizeof to, "%s/%d.jpg", images, number);
        CHECK(!symlink(from, to));
    }
    int64_t progress[2] = {0};
    lookalike_set_progress(keep_progress, progress);
    const char *notes = "\"text\":\"left out: 1 of “2.jpg”\"";
    ANSWERS(lookalike_indexer_index_path(indexer, images, "{\"exclude\": [\"2.jpg\"]}"), "\"added\":2,");
    ANSWERS(lookalike_indexer_index_path(indexer, images, "{\"exclude\": [\"2.jpg\"]}"), notes);
    CHECK(progress[0] == 2 && progress[1] == 2);
    lookalike_set_progress(NULL, NULL);
    ANSWERS(lookalike_folder_images(images), "0.jpg\",");
    REFUSED(lookalike_folder_images(text("%s/none", folder)), "no such folder");
    CHECK(!unlink(text("%s/1.jpg", images)));
    ANSWERS(lookalike_indexer_index_path(indexer, images, "{\"prune\": true}"), "\"removed\":[\"1\"]");
    CHECK(!unlink(text("%s/2.jpg", images)));
    const lookalike_item item = {text("{\"id\": \"0\", \"image\": \"%s/0.jpg\"}", images), NULL, 0};
    ANSWERS(index_items(indexer, &item, 1, "{\"prune\": true}"), "\"removed\":[\"2\"]");
    REFUSED(index_items(indexer, &item, 0, "{\"prune\": true}"), "nothing was removed");
    lookalike_indexer_free(indexer);
    lookalike_catalog_free(catalog);

    const char *merged = text("%s/merged", folder), *forms = text("%s/forms", folder);
    const char *parts[] = {path, forms};
    ANSWERS(lookalike_catalog_merge(merged, model, parts, 2), "\"problems\":[]");
    ANSWERS(lookalike_catalog_merge(merged, model, parts, 2), "\"added\":0,");
    REFUSED(lookalike_catalog_merge(merged, model, &merged, 1), "itself");
    REFUSED(lookalike_catalog_merge(merged, model, NULL, 1), "NULL");
    REFUSED(lookalike_catalog_merge(merged, model, parts, 0), "0 catalogs");
}

static lookalike_catalog *shared;

static void *search_often(void *of) {
    lookalike_source query = {.path = of};
    for (int turn = 0; turn < 10; turn += 1) {
        char *found = lookalike_catalog_search(shared, &query, "{\"limit\": 1}");
        CHECK(found && strstr(found, strstr(of, "arcade") ? "\"id\":\"arcade-hymns\"" : "\"id\":\"borrowed-light\""));
        lookalike_string_free(found);
        REFUSED(lookalike_catalog_list(shared, "{\"where\": \"(\"}"), "");
    }
    return of;
}

// Searches by threads beside an index run, and a catalog that is made anew at its path.
static void check_threads(const char *folder) {
    const char *path = text("%s/threads", folder);
    const char *names[] = {"arcade-hymns", "borrowed-light", "concrete-gardens", "copper-horizon"};
    for (int turn = 0; turn < 2; turn += 1) {
        lookalike_indexer *indexer = lookalike_indexer_open(path, model, NULL);
        CHECK(indexer);
        for (int name = 0; name < 4; name += 1) {
            const lookalike_item item = {text("{\"id\": \"%s\", \"image\": \"%s\"}", names[name], cover(names[name])),
                                         NULL, 0};
            ANSWERS(index_items(indexer, &item, 1, NULL), "\"problems\":[]");
            if (name != 1) continue;
            if (turn == 0) CHECK((shared = lookalike_catalog_open(path, model, 0)));
            pthread_t threads[4];
            char paths[4][1024];
            for (int index = 0; index < 4; index += 1) {
                snprintf(paths[index], sizeof paths[index], "%s", cover(names[index % 2]));
                CHECK(!pthread_create(&threads[index], NULL, search_often, paths[index]));
            }
            ANSWERS(lookalike_indexer_index_path(indexer, covers, NULL), "\"problems\":[");
            for (int index = 0; index < 4; index += 1) pthread_join(threads[index], NULL);
        }
        lookalike_indexer_free(indexer);
        CHECK(!rename(path, text("%s-%d", path, turn)));
        REFUSED(lookalike_catalog_list(shared, NULL), path);
    }
    lookalike_catalog_free(shared);
}

static void check_forks(const char *folder) {
    lookalike_catalog *catalog = lookalike_catalog_open(text("%s/demo", folder), model, 0);
    CHECK(catalog);
    pid_t child = fork();
    if (child == 0) {
        alarm(60);
        lookalike_source query = {.path = cover("arcade-hymns")};
        const char *path = text("%s/demo", folder);
        REFUSED(lookalike_catalog_search(catalog, &query, NULL), "forked");
        REFUSED(lookalike_catalog_open(path, NULL, 0), "forked");
        REFUSED(lookalike_indexer_open(path, NULL, NULL), "forked");
        REFUSED(lookalike_catalog_merge(path, NULL, &path, 1), "forked");
        _exit(0);
    }
    int status = -1;
    CHECK(waitpid(child, &status, 0) == child && status == 0);
    lookalike_catalog_free(catalog);
}

static void check_refusals(void) {
    REFUSED(lookalike_catalog_open("/no/such", NULL, 0), "/no/such");
    REFUSED(lookalike_catalog_open(NULL, NULL, 0), "NULL");
    REFUSED(lookalike_catalog_open("/no/such", NULL, -1), "-1");
    REFUSED(lookalike_catalog_count(NULL) != -1, "NULL");
    REFUSED(lookalike_catalog_info(NULL), "NULL");
    REFUSED(lookalike_indexer_open("/proc/none", model, NULL), "/proc/none");
    REFUSED(lookalike_indexer_open("/no/such", model, "{\"thumbnails\": -1}"), "thumbnails");
    REFUSED(lookalike_indexer_open("/no/such", model, "{\"maxMegapixels\": 0}"), "maxMegapixels");
    REFUSED(lookalike_indexer_update(NULL, "[]"), "NULL");
    lookalike_catalog_free(NULL);
    lookalike_indexer_free(NULL);
    lookalike_string_free(NULL);
}

int main(int count, char **arguments) {
    CHECK(count == 3);
    covers = arguments[1];
    const char *folder = arguments[2];
    // The default model of the process would be kept.
    CHECK((model = lookalike_model_open(NULL)));
    check_refusals();
    check_forms(folder);

    char demo[1024];
    snprintf(demo, sizeof demo, "%s/demo", folder);
    lookalike_indexer *indexer = lookalike_indexer_open(demo, model, NULL);
    CHECK(indexer);
    ANSWERS(lookalike_indexer_index_path(indexer, text("%s/albums.csv", covers), NULL), "\"problems\":[]");
    CHECK(lookalike_indexer_update(indexer, "[{\"id\": \"arcade-hymns\", \"gtin\": \"4006381333931\"}]"));
    lookalike_source image = {.path = cover("arcade-hymns")};
    const lookalike_item copy = {"{\"id\": \"copy\"}", &image, 1};
    ANSWERS(index_items(indexer, &copy, 1, NULL), "\"added\":1,");
    lookalike_indexer_free(indexer);
    lookalike_catalog *catalog = lookalike_catalog_open(demo, model, 0);
    CHECK(catalog);
    check_searches(catalog);
    check_evaluation(catalog);
    check_lists(catalog, folder);
    lookalike_catalog_free(catalog);
    check_changes(folder);
    check_threads(folder);
    check_forks(folder);
    lookalike_model_free(model);
    return 0;
}
