// The nearest rows of some queries.
//
//     cc nearest.c -llookalike -o nearest
#include <lookalike.h>

#include <stdio.h>
#include <stdlib.h>

enum { ROWS = 1000, QUERIES = 2, COLUMNS = 64, K = 3 };

static int failed(const char *what) {
    fprintf(stderr, "%s: %s\n", what, lookalike_error());
    return EXIT_FAILURE;
}

int main(void) {
    static float values[ROWS][COLUMNS];
    for (int row = 0; row < ROWS; row += 1)
        for (int column = 0; column < COLUMNS; column += 1) values[row][column] = (float)(rand() % 1000) / 1000;

    lookalike_matrix rows = {.data = values, .rows = ROWS, .columns = COLUMNS, .type = LOOKALIKE_FLOAT32};
    lookalike_exact_search *search = lookalike_exact_search_create(&rows, true, 0);
    if (!search) return failed("rows");

    lookalike_matrix queries = rows;
    queries.rows = QUERIES;
    int64_t found[QUERIES][K];
    float distances[QUERIES][K];
    bool is_found = lookalike_exact_search_nearest(search, &queries, K, 0, found[0], distances[0]);
    lookalike_exact_search_free(search);
    if (!is_found) return failed("queries");
    for (int query = 0; query < QUERIES; query += 1)
        for (int rank = 0; rank < K; rank += 1)
            printf("query %d: row %lld, distance %.3f\n", query, (long long)found[query][rank], distances[query][rank]);
    return EXIT_SUCCESS;
}
