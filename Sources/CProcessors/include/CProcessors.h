#ifndef LOOKALIKE_CPROCESSORS_H
#define LOOKALIKE_CPROCESSORS_H

// The processors that this process may run on; 0 where the system does not tell.
int lk_available_processors(void);

#endif
