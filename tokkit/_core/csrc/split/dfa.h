/* A compiled split pattern, run as a deterministic automaton over classes of
   characters. unicode_regex/tables.py makes the tables and says what a row means. */
#ifndef TK_DFA_H
#define TK_DFA_H
#include "split/scan.h"
#include "text/utf8.h"

/* What a row does on the class of the character at p, which it has not taken yet, besides going on. */
enum {
    TK_DFA_END = 1,  /* a span ends at p; the next row has taken p as the first character of another */
    TK_DFA_DROP = 2, /* with END: the span was matched by nothing */
    TK_DFA_MARK = 4, /* a match may end at p, unless a longer one is found that the pattern prefers */
    TK_DFA_BACK = 8, /* the match ended at the last mark; where there is none, none begins where this one did */
    TK_DFA_TRY = 16  /* in unmatched text: a match may begin at p, and may fail */
};

enum { TK_DFA_CODE_BLOCKS = 0x110000 / 64 };

enum { TK_DFA_MOST_CONTEXTS = 16 };

/* A row is given by the index of its first cell. The first rows have taken nothing yet, one for each context: what
   look-behinds tell apart of the character before, 0 at the start of the text. As many follow that are in unmatched
   text. Rows from `unsure` on may yet fail to match; from those before it every text leads to a match. */
struct tk_dfa {
    const uint32_t *next;  /* [rows][n_classes]: row; the last class is the end of the text */
    const uint8_t *action; /* [rows][n_classes] */
    const uint16_t *index; /* [TK_DFA_CODE_BLOCKS]: which block has the classes of 64 code points */
    const uint8_t *blocks; /* [][64] */
    const uint8_t *contexts; /* [n_classes - 1]: the context after a character of the class */
    uint32_t n_classes, n_contexts, unsure;
    size_t dropped;         /* TK_DROPPED, or 0 where unmatched text is kept as pretokens */
    uint8_t ascii[128];     /* the classes of the first two blocks */
};
typedef struct tk_dfa tk_dfa;

/* Where attempts to match have failed, so that no text is read again and again: see dfa.c. All zero is empty. */
typedef struct {
    size_t at; /* place in the text, or SIZE_MAX */
    uint32_t row;
} tk_dfa_failure;

typedef struct tk_dfa_memo {
    tk_dfa_failure *slots; /* open addressing */
    size_t n_slots, used;
    tk_dfa_failure *pending; /* of the attempt at hand */
    size_t n_pending, pending_capacity;
} tk_dfa_memo;

/* A match that fails so many bytes after its last mark is worth a memo. */
enum { TK_DFA_CHECK = 64 };

/* The class of the character at p, whose bytes go to *length. */
TK_INLINE uint32_t tk_dfa_class_at(const tk_dfa *dfa, const uint8_t *p, unsigned *length) {
    TK_ASSERT(!tk_is_continuation(*p));
    if (TK_LIKELY(*p < 0x80)) return *length = 1, dfa->ascii[*p];
    uint32_t c = tk_utf8_decode(p, length);
    return dfa->blocks[(size_t)dfa->index[c >> 6] << 6 | (c & 63)];
}

/* The row of a match that begins at p, which lies in a text that begins at `text`. */
TK_INLINE uint32_t tk_dfa_start(const tk_dfa *dfa, const uint8_t *text, const uint8_t *p) {
    TK_ASSERT(p >= text && dfa->n_contexts && dfa->n_contexts <= TK_DFA_MOST_CONTEXTS);
    if (TK_LIKELY(dfa->n_contexts == 1) || p == text) return 0;
    unsigned length;
    for (p--; p > text && tk_is_continuation(*p);) p--;
    return dfa->contexts[tk_dfa_class_at(dfa, p, &length)] * dfa->n_classes;
}

/* The row after the unmatched character at p. */
TK_INLINE uint32_t tk_dfa_gap(const tk_dfa *dfa, const uint8_t *p) {
    unsigned length;
    return (dfa->n_contexts + dfa->contexts[tk_dfa_class_at(dfa, p, &length)]) * dfa->n_classes;
}

TK_INLINE int tk_dfa_in_gap(const tk_dfa *dfa, uint32_t row) {
    const uint32_t rows = dfa->n_contexts * dfa->n_classes;
    return row - rows < rows;
}

void tk_dfa_memo_free(tk_dfa_memo *memo);

/* As tk_scan. `memo` serves one text at a time, which a scan begins at 0; NULL or too little memory for it costs
   time alone: a pattern may then need n² on a text made for that. */
size_t tk_dfa_scan(const tk_dfa *dfa, tk_dfa_memo *memo, const uint8_t *text, size_t n, size_t *pos, size_t *ends,
                   size_t limit);

#endif
