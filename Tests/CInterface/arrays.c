// Neighbors and distances against plain loops in double precision, and what has to be refused.
#include "check.h"

#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { ROWS = 900, QUERIES = 70, COLUMNS = 37, K = 5 };

static float rows[ROWS][COLUMNS], queries[QUERIES][COLUMNS];

static lookalike_matrix matrix(const void *data, int64_t count, int32_t type) {
    return (lookalike_matrix){.data = data, .rows = count, .columns = COLUMNS, .type = type};
}

static double distance(const float *a, const float *b) {
    double sum = 0;
    for (int column = 0; column < COLUMNS; column += 1) {
        double difference = (double)a[column] - b[column];
        sum += difference * difference;
    }
    return sqrt(sum);
}

// Integers of 8 bits, so that all types hold the same numbers, with duplicates among the rows.
static void draw(void) {
    uint32_t state = 20261128;
    printf("seed %u\n", state);
    for (int index = 0; index < (ROWS + QUERIES) * COLUMNS; index += 1) {
        state = state * 1664525 + 1013904223;
        float *to = index < ROWS * COLUMNS ? &rows[0][0] + index : &queries[0][0] + (index - ROWS * COLUMNS);
        *to = (float)((int32_t)(state >> 24) - 128);
    }
    for (int row = 100; row < ROWS; row += 90) memcpy(rows[row], rows[row - 100], sizeof rows[row]);
    memcpy(queries[3], rows[100], sizeof queries[3]);
}

// Whether these are the nearest rows of a query, ties in order.
static bool are_nearest(const int64_t *found, const float *distances, int k, const float *query) {
    bool is_taken[ROWS] = {false};
    for (int rank = 0; rank < k; rank += 1) {
        int nearest = -1;
        for (int row = 0; row < ROWS; row += 1)
            if (!is_taken[row] && (nearest < 0 || distance(rows[row], query) < distance(rows[nearest], query)))
                nearest = row;
        if (nearest < 0) return found[rank] == -1 && isinf(distances[rank]);
        is_taken[nearest] = true;
        double expected = distance(rows[nearest], query);
        if (found[rank] != nearest || fabs(distances[rank] - expected) > 1e-5 * (1 + expected)) return false;
    }
    return true;
}

static void check_search(const lookalike_matrix *of, const lookalike_matrix *among, int k, bool in_place) {
    int64_t *found = malloc(QUERIES * (size_t)k * sizeof *found);
    float *distances = malloc(QUERIES * (size_t)k * sizeof *distances);
    lookalike_exact_search *search = lookalike_exact_search_create(among, in_place, 0);
    CHECK(search);
    CHECK(lookalike_exact_search_nearest(search, of, k, 0, found, distances));
    // The plain loop takes long for many neighbors.
    for (int query = 0; query < QUERIES; query += k < ROWS ? 1 : QUERIES / 2)
        CHECK(are_nearest(found + query * k, distances + query * k, k, queries[query]));
    lookalike_exact_search_free(search);
    lookalike_inverted_file *file = lookalike_inverted_file_create(among, in_place, 8, 1);
    CHECK(file);
    CHECK(lookalike_inverted_file_nearest(file, of, k, 1, 2, found, NULL));
    for (int query = 0; query < QUERIES; query += k < ROWS ? 1 : QUERIES / 2)
        CHECK(are_nearest(found + query * k, distances + query * k, k, queries[query]));
    lookalike_inverted_file_free(file);
    free(found);
    free(distances);
}

static void check_types(void) {
    static int8_t codes[ROWS][COLUMNS];
    // Every second number of every second row, from the last one on.
    static float sparse[2 * QUERIES][2 * COLUMNS];
    // These integers have at most 8 binary digits.
    static uint16_t halves[ROWS][COLUMNS];
    for (int row = 0; row < ROWS; row += 1)
        for (int column = 0; column < COLUMNS; column += 1) {
            float value = rows[row][column];
            int exponent;
            float fraction = frexpf(fabsf(value), &exponent);
            codes[row][column] = (int8_t)value;
            halves[row][column] = value == 0 ? 0 : (uint16_t)((exponent + 14) << 10 | (int)(fraction * 2048 - 1024));
            if (value < 0) halves[row][column] |= 0x8000;
        }
    for (int query = 0; query < QUERIES; query += 1)
        for (int column = 0; column < COLUMNS; column += 1)
            sparse[2 * (QUERIES - 1 - query)][2 * column] = queries[query][column];
    lookalike_matrix floats = matrix(queries, QUERIES, LOOKALIKE_FLOAT32);
    lookalike_matrix strided = matrix(sparse[2 * (QUERIES - 1)], QUERIES, LOOKALIKE_FLOAT32);
    strided.row_stride = -2 * (int64_t)sizeof sparse[0];
    strided.column_stride = 2 * sizeof(float);
    const void *data[] = {rows, halves, codes};
    for (int32_t type = LOOKALIKE_FLOAT32; type <= LOOKALIKE_INT8; type += 1)
        for (int in_place = 0; in_place < 2; in_place += 1) {
            lookalike_matrix among = matrix(data[type], ROWS, type);
            check_search(&floats, &among, K, in_place);
            check_search(&strided, &among, 1, in_place);
            if (type == LOOKALIKE_INT8) check_search(&floats, &among, ROWS + 3, in_place);
        }
}

static void check_distances(void) {
    lookalike_matrix a = matrix(queries, QUERIES, LOOKALIKE_FLOAT32), b = matrix(rows, ROWS, LOOKALIKE_FLOAT32);
    float *found = malloc(QUERIES * ROWS * sizeof *found);
    CHECK(lookalike_distances(&a, &b, 0, found));
    for (int query = 0; query < QUERIES; query += 1)
        for (int row = 0; row < ROWS; row += 1) {
            double expected = distance(queries[query], rows[row]);
            CHECK(fabs(found[query * ROWS + row] - expected) <= 1e-4 * expected);
        }
    free(found);
}

static void check_refusals(void) {
    float values[2 * COLUMNS] = {0};
    int64_t found[2 * K];
    float distances[2 * K];
    lookalike_matrix good = matrix(values, 2, LOOKALIKE_FLOAT32), bad = good;
    REFUSED(lookalike_exact_search_create(NULL, false, 0), "NULL");
    bad.data = NULL;
    REFUSED(lookalike_exact_search_create(&bad, true, 0), "NULL");
    bad = good;
    bad.rows = -1;
    REFUSED(lookalike_exact_search_create(&bad, true, 0), "-1");
    bad.rows = INT64_MAX / 8;
    REFUSED(lookalike_exact_search_create(&bad, true, 0), "overflow");
    bad = good;
    bad.row_stride = INT64_MIN;
    REFUSED(lookalike_exact_search_create(&bad, true, 0), "overflow");
    bad = good;
    bad.column_stride = INT64_MAX / 2;
    REFUSED(lookalike_exact_search_create(&bad, true, 0), "overflow");
    for (int64_t columns = 0; columns < 100000; columns += 65537) {
        bad = good;
        bad.columns = columns;
        REFUSED(lookalike_exact_search_create(&bad, true, 0), "columns");
    }
    bad = good;
    bad.type = 7;
    REFUSED(lookalike_inverted_file_create(&bad, true, 0, 0), "type");
    REFUSED(lookalike_inverted_file_create(&good, true, -1, 0), "lists");
    REFUSED(lookalike_exact_search_create(&good, true, -1), "threads");
    const float wrong[] = {NAN, INFINITY, 3e38f, 0x1p61f};
    for (int index = 0; index < 4; index += 1) {
        values[COLUMNS + 2] = wrong[index];
        REFUSED(lookalike_exact_search_create(&good, true, 0), "row 1");
        REFUSED(lookalike_inverted_file_create(&good, false, 0, 0), "row 1");
        REFUSED(lookalike_distances(&good, &good, 0, distances), "row 1");
    }
    values[COLUMNS + 2] = 0;

    lookalike_exact_search *search = lookalike_exact_search_create(&good, true, 0);
    lookalike_inverted_file *file = lookalike_inverted_file_create(&good, true, 0, 0);
    CHECK(search && file);
    REFUSED(lookalike_exact_search_nearest(NULL, &good, K, 0, found, distances), "search is NULL");
    REFUSED(lookalike_exact_search_nearest(search, NULL, K, 0, found, distances), "queries are NULL");
    REFUSED(lookalike_exact_search_nearest(search, &good, -1, 0, found, distances), "-1");
    REFUSED(lookalike_exact_search_nearest(search, &good, INT64_MAX, 0, found, distances), "overflow");
    REFUSED(lookalike_exact_search_nearest(search, &good, K, 0, NULL, distances), "NULL");
    REFUSED(lookalike_inverted_file_nearest(file, &good, K, NAN, 0, found, distances), "recall");
    REFUSED(lookalike_inverted_file_nearest(file, &good, K, 1.1, 0, found, distances), "recall");
    bad = good;
    bad.columns = COLUMNS - 1;
    REFUSED(lookalike_exact_search_nearest(search, &bad, K, 0, found, distances), "columns");
    REFUSED(lookalike_inverted_file_nearest(file, &bad, K, 0.9, 0, found, distances), "columns");
    REFUSED(lookalike_distances(&good, &bad, 0, distances), "columns");
    float query[COLUMNS] = {[4] = NAN};
    bad = matrix(query, 1, LOOKALIKE_FLOAT32);
    REFUSED(lookalike_exact_search_nearest(search, &bad, K, 0, found, distances), "row 0 of the queries");

    // Defined, and no errors: no neighbors are asked for, no queries, no rows, fewer rows than neighbors.
    CHECK(lookalike_exact_search_nearest(search, &good, 0, 0, NULL, NULL));
    lookalike_matrix none = matrix(NULL, 0, LOOKALIKE_FLOAT32);
    CHECK(lookalike_exact_search_nearest(search, &none, K, 0, NULL, NULL));
    CHECK(lookalike_distances(&good, &none, 0, NULL));
    CHECK(lookalike_exact_search_nearest(search, &good, K, 0, found, distances));
    CHECK(found[0] == 0 && found[1] == 1 && found[2] == -1 && distances[1] == 0 && isinf(distances[2]));
    lookalike_exact_search_free(search);
    lookalike_inverted_file_free(file);
    search = lookalike_exact_search_create(&none, true, 0);
    file = lookalike_inverted_file_create(&none, true, 0, 0);
    CHECK(lookalike_exact_search_nearest(search, &good, K, 0, found, distances) && found[0] == -1);
    CHECK(lookalike_inverted_file_nearest(file, &good, K, 0.9, 0, found, distances) && found[2 * K - 1] == -1);
    lookalike_exact_search_free(search);
    lookalike_inverted_file_free(file);
    lookalike_exact_search_free(NULL);
    lookalike_inverted_file_free(NULL);
}

static lookalike_exact_search *shared;

static void *search_often(void *unused) {
    int64_t found[QUERIES * K];
    float distances[QUERIES * K];
    lookalike_matrix of = matrix(queries, QUERIES, LOOKALIKE_FLOAT32);
    for (int turn = 0; turn < 20; turn += 1) {
        CHECK(lookalike_exact_search_nearest(shared, &of, K, turn % 3, found, distances));
        REFUSED(lookalike_exact_search_nearest(shared, &of, -turn - 1, 0, found, distances), "neighbors");
        CHECK(are_nearest(found, distances, K, queries[0]) &&
              are_nearest(found + 3 * K, distances + 3 * K, K, queries[3]));
    }
    return unused;
}

// A search by threads, and by children of forks while others search.
static void check_threads_and_forks(void) {
    lookalike_matrix among = matrix(rows, ROWS, LOOKALIKE_FLOAT32);
    CHECK((shared = lookalike_exact_search_create(&among, true, 0)));
    pthread_t threads[4];
    for (int index = 0; index < 4; index += 1) CHECK(!pthread_create(&threads[index], NULL, search_often, NULL));
    for (int turn = 0; turn < 8; turn += 1) {
        pid_t child = fork();
        if (child == 0) {
            alarm(60);
            search_often(NULL);
            lookalike_inverted_file *file = lookalike_inverted_file_create(&among, true, 0, 0);
            _exit(file ? 0 : 1);
        }
        int status = -1;
        CHECK(waitpid(child, &status, 0) == child && status == 0);
    }
    for (int index = 0; index < 4; index += 1) pthread_join(threads[index], NULL);
    lookalike_exact_search_free(shared);
}

int main(void) {
    CHECK(lookalike_interface_version() == LOOKALIKE_INTERFACE_VERSION && strlen(lookalike_version()) > 0);
    CHECK(strcmp(lookalike_error(), "") == 0);
    draw();
    check_types();
    check_distances();
    check_refusals();
    check_threads_and_forks();
    return 0;
}
