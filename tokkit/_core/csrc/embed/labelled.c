/* Reads lines of words and labels: see labelled.h. */
#include "embed/labelled.h"

static const uint8_t end_of_line[] = {'<', '/', 's', '>'};

TK_INLINE int separates(uint8_t c) { return c == ' ' || (c >= '\t' && c <= '\r') || !c; }

static int push_number(tk_word_counts *words, const uint8_t *word, size_t n, tk_row_list *ids) {
    uint32_t number;
    int status = tk_word_counts_number(words, word, n, 1, &number);
    return status ? status : tk_row_push(ids, number);
}

int tk_labelled_read(tk_word_counts *words, const uint8_t *text, size_t n, int last, tk_row_list *ids, size_t *used) {
    TK_ASSERT((text || !n) && !words->longest && ids && used);
    *used = 0;
    for (size_t i = 0, from; i < n; *used = i) {
        int status = TK_OK;
        for (from = i; i < n && !separates(text[i]); i++) {}
        if (i == n && !last) return TK_OK;
        if (i > from) status = push_number(words, text + from, i - from, ids);
        if (!status && i < n && text[i++] == '\n') status = push_number(words, end_of_line, sizeof end_of_line, ids);
        if (status) return status;
    }
    return TK_OK;
}

void tk_line_free(tk_line *line) {
    free(line->rows.rows);
    free(line->labels.rows);
    free(line->hashes.rows);
    memset(line, 0, sizeof *line);
}

/* The rows of a number, and its hash where n-grams of words want it. */
TK_INLINE int push_word(const tk_line_rows *o, uint32_t id, tk_line *line) {
    TK_ASSERT(o->longest < 2 || o->hashes);
    if (o->longest > 1 && tk_row_push(&line->hashes, o->hashes[id])) return TK_NO_MEMORY;
    if (!o->ends) return id < o->n_words ? tk_row_push(&line->rows, id) : TK_OK;
    int64_t from = id ? o->ends[id - 1] : 0;
    TK_ASSERT(o->ends[id] >= from && from >= 0);
    size_t n = (size_t)(o->ends[id] - from);
    tk_row_list *rows = &line->rows;
    if (!n) return TK_OK;
    if (tk_reserve(&rows->rows, &rows->capacity, rows->n + n, sizeof *rows->rows)) return TK_NO_MEMORY;
    memcpy(rows->rows + rows->n, o->rows + from, n * sizeof *rows->rows);
    rows->n += n;
    return TK_OK;
}

int tk_line_of_ids(const tk_line_rows *o, const uint32_t *ids, size_t n, tk_line *line) {
    line->rows.n = line->labels.n = line->hashes.n = 0;
    for (size_t i = 0; i < n; i++) {
        uint32_t id = ids[i];
        int status = TK_OK;
        if (id == UINT32_MAX) continue;
        if (id >= o->n_words && id - o->n_words < o->n_labels) status = tk_row_push(&line->labels, id - o->n_words);
        else status = push_word(o, id, line);
        if (status) return status;
    }
    return tk_ngrams_of_words(&o->ngrams, line->hashes.rows, line->hashes.n, o->longest, &line->rows);
}

static int push_text(const tk_line_rows *o, const tk_word_counts *words, const uint8_t *prefix, size_t n_prefix,
                     const uint8_t *word, size_t n, tk_line *line) {
    uint32_t id = tk_word_counts_find(words, word, n);
    if (id < o->n_words) return push_word(o, id, line);
    if (id != UINT32_MAX || (n >= n_prefix && !memcmp(word, prefix, n_prefix))) return TK_OK;
    if (o->longest > 1 && tk_row_push(&line->hashes, tk_ngram_hash(word, n))) return TK_NO_MEMORY;
    if (n == sizeof end_of_line && !memcmp(word, end_of_line, n)) return TK_OK;
    return tk_ngrams_of_word(&o->ngrams, word, n, &line->rows);
}

int tk_line_of_text(const tk_line_rows *o, const tk_word_counts *words, const uint8_t *prefix, size_t n_prefix,
                    const uint8_t *text, size_t n, tk_line *line) {
    line->hashes.n = 0;
    const uint8_t *stop = n ? memchr(text, '\n', n) : NULL;
    if (stop) n = (size_t)(stop - text);
    for (size_t i = 0, from; i < n; i++) {
        for (from = i; i < n && !separates(text[i]); i++) {}
        if (i == from) continue;
        int status = push_text(o, words, prefix, n_prefix, text + from, i - from, line);
        if (status) return status;
        if (i - from == sizeof end_of_line && !memcmp(text + from, end_of_line, sizeof end_of_line)) goto ended;
    }
    int status = push_text(o, words, prefix, n_prefix, end_of_line, sizeof end_of_line, line);
    if (status) return status;
ended:
    return tk_ngrams_of_words(&o->ngrams, line->hashes.rows, line->hashes.n, o->longest, &line->rows);
}
