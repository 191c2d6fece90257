#include <lookalike.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CHECK(condition)                                                                                               \
    ((condition) ? (void)0                                                                                             \
                 : (fprintf(stderr, "%s:%d: %s (%s)\n", __FILE__, __LINE__, #condition, lookalike_error()), abort()))

// Checks that a call fails, with an error that contains some words.
#define REFUSED(call, words) CHECK(!(call) && strstr(lookalike_error(), words))
