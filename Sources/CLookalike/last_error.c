#include "last_error.h"

#include <string.h>

#include "lookalike.h"

// In the thread's own memory, so that nothing is left to free when it ends.
static _Thread_local char message[2048];

void lookalike_set_error(const char *text) {
    size_t length = strlen(text);
    if (length >= sizeof message) {
        length = sizeof message - 1;
        // Not within a character of UTF-8.
        while (length > 0 && ((unsigned char)text[length] & 0xC0) == 0x80) length -= 1;
    }
    memcpy(message, text, length);
    message[length] = 0;
}

const char *lookalike_error(void) { return message; }
