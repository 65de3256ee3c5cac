/* Counts the words in the windows around each word, as rows of a sparse matrix, in order; sums are double. */
#ifndef TK_COOCCURRENCE_H
#define TK_COOCCURRENCE_H
#include "base.h"

/* The sums of one row. A bit per word, and a bit per 64 of these, say which are touched: taking a row visits them in
   order without a sort. */
typedef struct {
    double *sums; /* (n_words) */
    uint64_t *touched, *groups;
    size_t n_words;
} tk_row_sums;

/* Where each word occurs in a text whose sentences have a separator, the id n_words, before and after them. */
typedef struct {
    uint32_t *text, *places;
    size_t *starts; /* (n_words + 1): the places of word i are places[starts[i] … starts[i + 1]) */
    size_t n_words;
} tk_occurrences;

/* Rows go to indices and values until a row might not fit into `room`, which is at least n_words. */
typedef struct {
    int32_t *indices;
    double *values;
    int64_t *lengths; /* of each row */
    size_t room, used;
} tk_rows_out;

/* Contexts reach `before` words back and `after` ahead; one at the distance k counts weights[k - 1]. */
typedef struct {
    const double *weights;
    size_t before, after;
} tk_window;

/* A sparse matrix of n_words rows; rows are read in order. */
typedef struct {
    const int64_t *starts; /* (n_words + 1) */
    const int32_t *indices;
    const double *values;
} tk_run;

int tk_row_sums_open(tk_row_sums *s, size_t n_words);
void tk_row_sums_close(tk_row_sums *s);

/* Index the words ids[first … last) of sentences that end at `ends`, of which the last is n; others are context only.
   TK_BAD_INPUT where an id is not below n_words, TK_TOO_LARGE where a place needs more than 32 bits. */
int tk_occurrences_open(tk_occurrences *o, const uint32_t *ids, size_t n, size_t first, size_t last,
                        const int64_t *ends, size_t n_sentences, size_t n_words);
void tk_occurrences_close(tk_occurrences *o);

/* Both return the row after the last that they wrote; `from` itself where there is no room. */
size_t tk_count_rows(const tk_occurrences *o, const tk_window *w, tk_row_sums *s, size_t from, size_t to,
                     tk_rows_out *out);
size_t tk_merge_rows(const tk_run *runs, size_t n_runs, tk_row_sums *s, size_t from, size_t to, tk_rows_out *out);
#endif
