#include "last_error.h"

#include <string.h>

#include "lookalike.h"

// In the thread's own memory, so that nothing is left to free when it ends.
static _Thread_local char message[2048];
static _Thread_local int32_t kind_of_error;
static _Thread_local bool (*interrupt)(void *context);
static _Thread_local void *interrupt_context;
static _Thread_local void (*progress)(void *context, int64_t done, int64_t total);
static _Thread_local void *progress_context;

void lookalike_set_error(const char *text, lookalike_error_kind kind) {
    size_t length = strlen(text);
    if (length >= sizeof message) {
        length = sizeof message - 1;
        // Not within a character of UTF-8.
        while (length > 0 && ((unsigned char)text[length] & 0xC0) == 0x80) length -= 1;
    }
    memcpy(message, text, length);
    message[length] = 0;
    kind_of_error = (int32_t)kind;
}

const char *lookalike_error(void) { return message; }

int32_t lookalike_last_error_kind(void) { return kind_of_error; }

void lookalike_set_interrupt(bool (*is_interrupted)(void *context), void *context) {
    interrupt = is_interrupted;
    interrupt_context = context;
}

bool lookalike_is_interrupted(void) { return interrupt && interrupt(interrupt_context); }

void lookalike_set_progress(void (*function)(void *context, int64_t done, int64_t total), void *context) {
    progress = function;
    progress_context = context;
}

void lookalike_report_progress(int64_t done, int64_t total) {
    if (progress) progress(progress_context, done, total);
}
