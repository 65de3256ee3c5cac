/* The large tables of a tokenizer.json, read from its bytes: the model's vocabulary and merges, packed.

   The rest of the file is skipped. Anything unusual, valid or not, is TK_BAD_INPUT: the caller then reads the file in
   another way, which says what is wrong. */
#ifndef TK_JSON_TABLES_H
#define TK_JSON_TABLES_H
#include "base.h"

enum { TK_MOST_ID = (1 << 21) - 1 };

/* How a table is spelt. */
enum {
    TK_NO_TABLE,
    TK_IDS,    /* {"token": id, …}, no id twice */
    TK_SCORES, /* [["token", score], …] */
    TK_SPACED, /* ["left right", …] */
    TK_PAIRS   /* [["left", "right"], …] */
};

typedef struct {
    int kind;
    size_t start, end; /* where the table stands in the text */
    size_t n;          /* entries */
    uint8_t *bytes;    /* tokens joined; or merges, a zero byte after each string but the last */
    size_t n_bytes;
    int64_t *ends;     /* [n] where each token ends in `bytes` */
    uint32_t *ids;     /* [n] */
    double *scores;    /* [n] */
    size_t ends_capacity, ids_capacity, scores_capacity;
} tk_json_table;

typedef struct {
    tk_json_table vocab, merges;
} tk_json_tables;

/* Look for the tables in n bytes of text with a zero byte after them. TK_OK, TK_NO_MEMORY or TK_BAD_INPUT; in any
   case tk_json_tables_free gives back what *found has. The bytes of tokens are not checked to be UTF-8. */
int tk_json_tables_read(tk_json_tables *found, const uint8_t *text, size_t n);
void tk_json_tables_free(tk_json_tables *found);

#endif
