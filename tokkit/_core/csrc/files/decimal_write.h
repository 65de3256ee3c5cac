/* Writes a float in the digits of a tokenizer.json: those of Python's repr, or, where the reader of tokenizers takes
   these as another float, digits that it takes as this one. tokkit/files/decimals.py says how it reads; its `write` is
   the twin of this, for all floats. */
#ifndef TK_DECIMAL_WRITE_H
#define TK_DECIMAL_WRITE_H
#include "base.h"

/* The most bytes of a number, rounded up: digits are written in pairs. */
enum { TK_DECIMAL_ROOM = 32 };

/* Write the digits, without `read_back` those of repr, to out, which has TK_DECIMAL_ROOM bytes; returns how many.

   0, for a float that this leaves to the twin: below 0.01 or above 1e15, right below a power of ten, or with no 128-bit
   integers in this compiler. */
size_t tk_decimal_write(double value, int read_back, uint8_t *out);

#endif
