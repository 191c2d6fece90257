// Loops that do nothing but what a machine is fastest at.

#ifndef LOOKALIKE_CLIMITS_H
#define LOOKALIKE_CLIMITS_H

#include <stddef.h>
#include <stdint.h>

// Reads every byte once, in order; gives something that depends on all of them.
uint64_t limit_read(const void *bytes, size_t count);

// Fused multiply-adds of 32-bit floats in registers, with the widest vectors there are; tells how many.
uint64_t limit_multiply_add(uint64_t rounds);

#endif
