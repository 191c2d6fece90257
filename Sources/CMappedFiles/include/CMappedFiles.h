// Mapped files that another program truncates. Reading beyond the new end raises SIGBUS, which ends a process that does
// not handle it.

#ifndef LOOKALIKE_CMAPPEDFILES_H
#define LOOKALIKE_CMAPPEDFILES_H

#include <stdbool.h>
#include <stddef.h>

// Notes a mapping, so that the handler knows it. Returns its number, or -1 if there are too many; any thread may call.
int lk_add_mapping(const void *start, size_t length);

// Forgets a mapping, before it is unmapped.
void lk_remove_mapping(int number);

// Whether pages of the mapping were missing when they were read, and read as zeros since.
bool lk_has_missing_pages(int number);

// Handles SIGBUS in this process: where a page of a mapping is missing, that page and those behind it become zeros. All
// else is left to the handler that was there before. False if the system refuses.
bool lk_handle_missing_pages(void);

#endif
