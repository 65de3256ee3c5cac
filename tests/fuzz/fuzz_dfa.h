/* Makes an automaton and its tables of the bytes of an input, for targets that cut text by a compiled pattern.

   The automaton is any that unicode_regex/automaton.py could make: from one of the first states, which no state leads
   back to and of which each is of a context, by classes of characters; a match ends before a character of some classes,
   the end of the text being one. The tables are made of it as unicode_regex/tables.py does. */
#ifndef FUZZ_DFA_H
#define FUZZ_DFA_H
#include "split/dfa.h"
#include "fuzz.h"

enum { FZ_STATES = 9, FZ_CLASSES = 6, FZ_CONTEXTS = 3 };
#define FZ_N_DFA_ALPHABET 10
static const char *const FZ_DFA_ALPHABET[FZ_N_DFA_ALPHABET] = {
    "a", "b", "c", " ", "\xc3\xa9", "\xe6\x9d\xb1", "\xe3\x81\xae", "\xf0\x9f\xa6\x9c", "1", "\n"};

typedef struct {
    int states, classes; /* without the class of the end, which is the last */
    int contexts;        /* a state after the first so many is of the context (state - contexts) % contexts */
    uint8_t context_of[FZ_CLASSES];
    int next[FZ_STATES][FZ_CLASSES + 1], final[FZ_STATES][FZ_CLASSES + 1];
    uint8_t of_symbol[FZ_N_DFA_ALPHABET];
    tk_dfa dfa;
    uint32_t cells[(FZ_STATES + FZ_CONTEXTS) * (FZ_CLASSES + 1)];
    uint8_t action[(FZ_STATES + FZ_CONTEXTS) * (FZ_CLASSES + 1)];
    uint16_t index[TK_DFA_CODE_BLOCKS];
    uint8_t blocks[FZ_N_DFA_ALPHABET + 1][64];
} fz_dfa;

static inline void fz_dfa_classes(fz *f, fz_dfa *d) {
    unsigned n_blocks = 1, length;
    memset(d->index, 0, sizeof d->index);
    memset(d->blocks, 0, sizeof d->blocks);
    for (int k = 0; k < FZ_N_DFA_ALPHABET; k++) {
        uint32_t c = tk_utf8_decode((const uint8_t *)FZ_DFA_ALPHABET[k], &length);
        if (!d->index[c >> 6]) d->index[c >> 6] = (uint16_t)n_blocks++;
        d->of_symbol[k] = (uint8_t)fz_below(f, (unsigned)d->classes);
        d->blocks[d->index[c >> 6]][c & 63] = d->of_symbol[k];
    }
    for (int c = 0; c < 128; c++) d->dfa.ascii[c] = d->blocks[d->index[c >> 6]][c & 63];
}

/* The states from which a match comes whatever follows. */
static inline void fz_dfa_sure(const fz_dfa *d, int *sure) {
    int again = 1;
    for (int s = 0; s < d->states; s++) sure[s] = 1;
    while (again) {
        again = 0;
        for (int s = 0; s < d->states; s++)
            for (int c = 0; c <= d->classes; c++)
                if (sure[s] && !d->final[s][c] && (d->next[s][c] < 0 || !sure[d->next[s][c]])) sure[s] = 0, again = 1;
    }
}

static inline void fz_dfa_tables(fz_dfa *d, int keeps_unmatched) {
    int sure[FZ_STATES], row[FZ_STATES], width = d->classes + 1, k = d->contexts, rows = 2 * k, unsure;
    fz_dfa_sure(d, sure);
    for (int s = k; s < d->states; s++)
        if (sure[s]) row[s] = rows++;
    unsure = rows;
    for (int s = k; s < d->states; s++)
        if (!sure[s]) row[s] = rows++;
    for (int c = 0; c < width; c++) {
        int gap = k + (c < d->classes ? d->context_of[c] : 0), beyond[FZ_CONTEXTS];
        for (int s = 0; s < k; s++) {
            int begins = d->next[s][c] < 0 ? -1 : row[d->next[s][c]], in_gap = (k + s) * width + c;
            beyond[s] = begins < 0 ? gap : begins;
            d->cells[s * width + c] = d->cells[in_gap] = (uint32_t)(beyond[s] * width);
            d->action[s * width + c] = 0;
            d->action[in_gap] = (uint8_t)(c == d->classes || (begins >= 0 && begins < unsure)
                                              ? TK_DFA_END | TK_DFA_DROP
                                              : begins < 0 ? 0 : TK_DFA_TRY);
        }
        for (int s = k; s < d->states; s++) {
            int to = d->next[s][c] < 0 ? -1 : row[d->next[s][c]], final = d->final[s][c], cell = row[s] * width + c;
            d->cells[cell] = (uint32_t)((to >= 0 ? to : final ? beyond[(s - k) % k] : gap) * width);
            d->action[cell] = (uint8_t)(to < 0 ? (final ? TK_DFA_END : TK_DFA_BACK)
                                               : final && to >= unsure ? TK_DFA_MARK : 0);
        }
    }
    d->dfa.next = d->cells, d->dfa.action = d->action, d->dfa.index = d->index, d->dfa.blocks = d->blocks[0];
    d->dfa.contexts = d->context_of;
    d->dfa.n_classes = (uint32_t)width, d->dfa.n_contexts = (uint32_t)k, d->dfa.unsure = (uint32_t)(unsure * width);
    d->dfa.dropped = keeps_unmatched ? 0 : TK_DROPPED;
}

static inline void fz_dfa_make(fz *f, fz_dfa *d) {
    unsigned kind = fz_byte(f);
    int keeps_unmatched = kind & 1, k = 1 + (int)(kind >> 1 & 3) % FZ_CONTEXTS;
    memset(d, 0, sizeof *d);
    d->contexts = k;
    d->states = 2 * k + (int)fz_below(f, (unsigned)(FZ_STATES - 2 * k + 1));
    d->classes = 1 + (int)fz_below(f, FZ_CLASSES);
    for (int c = 0; k > 1 && c < d->classes; c++) d->context_of[c] = (uint8_t)fz_below(f, (unsigned)k);
    for (int s = 0; s < d->states; s++)
        for (int c = 0; c <= d->classes; c++) {
            unsigned byte = fz_byte(f);
            int context = c < d->classes ? d->context_of[c] : 0, of_it = (d->states - k - context + k - 1) / k;
            d->next[s][c] = c < d->classes && byte & 0x38 ? k + context + k * ((int)(byte & 7) % of_it) : -1;
            d->final[s][c] = s >= k && byte & 0x40;
        }
    fz_dfa_classes(f, d);
    fz_dfa_tables(d, keeps_unmatched);
}

/* The end of the match that begins at `at`, or `at`: of all ends the last. */
static inline size_t fz_dfa_match(const fz_dfa *d, const uint8_t *p, size_t n, size_t at) {
    size_t end = at;
    unsigned length = 0;
    int s = 0;
    if (at) {
        size_t before = at - 1;
        while (tk_is_continuation(p[before])) before--;
        s = d->context_of[tk_dfa_class_at(&d->dfa, p + before, &length)];
    }
    for (; s >= 0; at += length) {
        uint32_t c = at < n ? tk_dfa_class_at(&d->dfa, p + at, &length) : (uint32_t)d->classes;
        if (d->final[s][c]) end = at;
        s = d->next[s][c];
    }
    return end;
}

/* The ends of all stretches, as tk_scan has them. */
static inline size_t fz_dfa_scan(const fz_dfa *d, const uint8_t *p, size_t n, size_t *ends) {
    size_t count = 0, begin = 0;
    for (size_t at = 0; at < n;) {
        size_t end = fz_dfa_match(d, p, n, at);
        if (end == at) {
            at += tk_utf8_length(p[at]);
            continue;
        }
        if (at > begin) ends[count++] = at | d->dfa.dropped;
        ends[count++] = begin = at = end;
    }
    if (n > begin) ends[count++] = n | d->dfa.dropped;
    return count;
}

#endif
