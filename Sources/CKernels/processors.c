// Linux's macros for sets of processors, which Swift does not see.
#define _GNU_SOURCE
#include "CKernels.h"

#if defined(__linux__)
#include <sched.h>

int lk_available_processors(void) {
    cpu_set_t set;
    return sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set) : 0;
}
#else
int lk_available_processors(void) { return 0; }
#endif
