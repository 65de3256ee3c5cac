/* Measures the clock rate by timing a chain of instructions of known latency. */
#ifndef TK_CYCLES_H
#define TK_CYCLES_H
#include "base.h"

enum { TK_CHAIN_CYCLES = 2 }; /* a step: an addition and an exclusive or, each of which waits for the one before */

/* Two operations, neither with a constant: processors fold chains of small constants, compilers those of one kind.
   *end is volatile, or a chain of which nobody wants the end would not be run. */
static TK_NOINLINE void tk_chain(uint64_t steps, volatile uint64_t *end) {
    uint64_t x = *end, y = *end | 5, z = *end | 9;
    for (uint64_t k = 0; k < steps; k++) x = (x + y) ^ z;
    *end = x;
}

#endif
