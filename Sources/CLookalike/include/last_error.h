#ifndef LOOKALIKE_LAST_ERROR_H
#define LOOKALIKE_LAST_ERROR_H

// Keeps why a call of this thread failed, cut after some 2,000 bytes.
void lookalike_set_error(const char *text);

#endif
