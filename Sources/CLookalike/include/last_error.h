#ifndef LOOKALIKE_LAST_ERROR_H
#define LOOKALIKE_LAST_ERROR_H

#include <stdbool.h>

#include "lookalike.h"

// Keeps why a call of this thread failed, cut after some 2,000 bytes, and its lookalike_error_kind.
void lookalike_set_error(const char *text, lookalike_error_kind kind);

// Whether the caller of this thread interrupts its call, by what it gave to lookalike_set_interrupt.
bool lookalike_is_interrupted(void);

// Calls the function that the caller of this thread has given to lookalike_set_progress, if there is one.
void lookalike_report_progress(int64_t done, int64_t total);

#endif
