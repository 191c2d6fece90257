// Mapped files that another program truncates. Reading beyond the new end raises SIGBUS, which ends a process that does
// not handle it.

#ifndef LOOKALIKE_CMAPPEDFILES_H
#define LOOKALIKE_CMAPPEDFILES_H

#include <stdbool.h>
#include <stddef.h>

// Registers a mapping with the handler. Returns its number, or -1 if there are too many; any thread may call.
int lk_add_mapping(const void *start, size_t length);

// Forgets a mapping, before it is unmapped.
void lk_remove_mapping(int number);

// Whether a page of the mapping was missing when it was read; such pages read as zeros from then on.
bool lk_has_missing_pages(int number);

// Handles SIGBUS in this process: where a page of a mapping is missing, that page and those behind it become zeros. All
// else is left to the handler that was there before. False if the system refuses.
bool lk_handle_missing_pages(void);

// The path of the library or program whose code has this address; NULL if the system knows none. The path of a program
// is the one by which it was started.
const char *lk_path_of_code(const void *address);

#endif
