/* Reads the texts of JSON lines: the string in one field of each line's object, unescaped and concatenated.

   A line is read here if it is JSON as Python's json reads it, and has such a text. The caller must read any other
   line, valid or not, in another way. */
#ifndef TK_JSON_LINES_H
#define TK_JSON_LINES_H
#include "byte_kernels.h"

/* Deeper values, and longer numbers, are left to who asked. */
enum { TK_JSON_DEPTH = 64, TK_JSON_DIGITS = 600 };

/* What texts may take more than the lines that they are in: vectors are written as a whole. */
enum { TK_JSON_SPARE = 64 };

typedef struct {
    const tk_byte_kernels *by;
    const uint8_t *field; /* UTF-8 */
    size_t n_field;
    uint8_t *texts; /* room for all bytes that are given and TK_JSON_SPARE more */
    size_t n_texts_bytes;
    int64_t *ends; /* [n_texts] where each text ends */
    size_t n_texts, ends_capacity;
    size_t n_lines; /* lines that were read, empty ones too */
} tk_json_texts;

/* Read lines of data[:n] from *at, where one begins, on: to the end, or to one that is left. data[n] is 0, or
   data[n - 1] a line break. TK_OK or TK_NO_MEMORY. */
int tk_json_texts_read(tk_json_texts *t, const uint8_t *data, size_t n, size_t *at);

/* Copy the bytes of a string to *out, which moves on, and the characters of escapes of one letter: up to a quote, a
   control character, any other backslash or `end`. Returns where; *beyond gets bits if any is beyond ASCII. Kernels
   copy whole blocks: they may stop early, and write one of waste. */
const uint8_t *tk_json_plain(const uint8_t *p, const uint8_t *end, uint8_t **out, uint64_t *beyond);

/* By the letter after a backslash, the character that it stands for, 0 for none. */
extern const uint8_t tk_json_escapes[256];

#endif
