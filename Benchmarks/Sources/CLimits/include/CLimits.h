// Loops at the limits of the machine: memory bandwidth and multiply-adds.

#ifndef LOOKALIKE_CLIMITS_H
#define LOOKALIKE_CLIMITS_H

#include <stddef.h>
#include <stdint.h>

// Reads every byte once, in order; returns a value that depends on all of them.
uint64_t limit_read(const void *bytes, size_t count);

// Fused multiply-adds of 32-bit floats in registers, with the widest vectors of the CPU; returns their number.
uint64_t limit_multiply_add(uint64_t rounds);

#endif
