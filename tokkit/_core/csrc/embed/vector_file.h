/* Vector files: reads records of word2vec's .bin and lines of text chunk by chunk, and writes lines of text. */
#ifndef TK_VECTOR_FILE_H
#define TK_VECTOR_FILE_H
#include "base.h"

/* What is wrong with a record; TK_NO_MEMORY is another answer. */
enum {
    TK_VECTOR_OK = 0,
    TK_VECTOR_NOT_FINITE = 1, /* NaN, infinity, or beyond float32 */
    TK_VECTOR_NO_KEY = 2,
    TK_VECTOR_LONG_KEY = 3,
    TK_VECTOR_LENGTH = 4,     /* more or fewer numbers than d: `seen` */
    TK_VECTOR_NUMBER = 5,     /* a field that is not a number: from `field`, `seen` bytes */
};

enum { TK_VECTOR_KEY_BYTES = 1 << 16, TK_FLOAT_CHARS = 24 };
_Static_assert(sizeof(float) == 4, "numbers of .bin are copied");

typedef struct {
    size_t d;          /* numbers of a vector */
    float *rows;       /* (capacity, d), the caller's; NULL: numbers of .bin are checked, and stay in the file */
    size_t capacity;
    size_t n;          /* vectors so far */
    size_t line;       /* lines of text so far, blank ones too */
    uint8_t *keys;     /* all keys, joined; key i is from offsets[i] to offsets[i + 1]; no keys have no offsets */
    size_t keys_capacity;
    int64_t *offsets;
    size_t offsets_capacity;
    int64_t *starts;   /* without rows: where the numbers of each vector begin, in bytes from the first record */
    size_t starts_capacity;
    size_t consumed;   /* bytes of the records so far */
    size_t field, seen;
} tk_vector_reader;

void tk_vector_reader_free(tk_vector_reader *r);

/* Take whole records of data[0:n] while there is room; *used are their bytes. `last`: nothing follows the data. */
int tk_vectors_binary(tk_vector_reader *r, const uint8_t *data, size_t n, size_t *used);
int tk_vectors_text(tk_vector_reader *r, const uint8_t *data, size_t n, int last, size_t *used);

/* Write the shortest decimal that reads as this float, in the form of numpy's str; return its characters. */
size_t tk_float_text(float value, char *out);
#endif
