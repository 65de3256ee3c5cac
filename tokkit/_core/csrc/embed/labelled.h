/* Lines of words and labels: converts text to word numbers, and to the rows whose mean is the vector of a line. */
#ifndef TK_LABELLED_H
#define TK_LABELLED_H
#include "embed/ngrams.h"
#include "train/word_counts.h"

/* Append the number of each word of a text, where ASCII white space and NUL separate words, and "\n" is the word
   "</s>"; new words are added. *used gets the bytes that were read: a last word may go on unless `last`. */
int tk_labelled_read(tk_word_counts *words, const uint8_t *text, size_t n, int last, tk_row_list *ids, size_t *used);

/* What words are rows of. Words have the numbers below n_words, labels the n_labels after them; a later number is a
   word without a row of its own, UINT32_MAX nothing at all. */
typedef struct {
    uint32_t n_words, n_labels;
    const int64_t *ends;    /* of each number, with `rows`: the word's row, then its n-grams; or NULL */
    const uint32_t *rows;
    const uint32_t *hashes; /* of each number; NULL where longest is below 2 */
    size_t longest;         /* words of an n-gram of words */
    tk_ngram_rows ngrams;
} tk_line_rows;

typedef struct {
    tk_row_list rows, labels, hashes;
} tk_line;

void tk_line_free(tk_line *line);

/* Make the rows and labels of a line of numbers: TK_OK or TK_NO_MEMORY. */
int tk_line_of_ids(const tk_line_rows *o, const uint32_t *ids, size_t n, tk_line *line);

/* Append the rows of a text, read to its first "\n", after which "</s>" counts; unknown words have n-grams, unless they
   begin with the prefix of labels. */
int tk_line_of_text(const tk_line_rows *o, const tk_word_counts *words, const uint8_t *prefix, size_t n_prefix,
                    const uint8_t *text, size_t n, tk_line *line);
#endif
