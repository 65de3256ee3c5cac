/* Finds added tokens in a text, as tokenizers does: the leftmost, then the longest, without overlaps.

   A filter checks the first three bytes at 64 positions at once, and a trie checks the positions that pass. If the trie
   would read the same text repeatedly (tokens aaa…b in a text aaa…), an automaton that reads backwards finds the
   longest token at each of the next positions instead, so that any text of n bytes is searched in O(n). */
#ifndef TK_ADDED_H
#define TK_ADDED_H
#include "byte_kernels.h"
#include "text/aligned.h"

enum {
    TK_ADDED_SINGLE_WORD = 1, /* no word character stands beside it */
    TK_ADDED_LSTRIP = 2,      /* it takes the white space before it, */
    TK_ADDED_RSTRIP = 4       /* and after it */
};

enum { TK_ADDED_LOOK = 3, TK_ADDED_BUCKETS = 8, TK_ADDED_WINDOW = 2048 };

/* A token may begin at p if a bit stands in nibbles of all of its first bytes: low[k][p[k] & 15] & high[k][p[k] >> 4].
   Each bit is that of some tokens that begin alike. */
typedef struct tk_added_filter {
    uint8_t low[TK_ADDED_LOOK][16], high[TK_ADDED_LOOK][16];
} tk_added_filter;

/* The added_skip of byte_kernels.h, one place after another. */
uint64_t tk_added_skip(const tk_added_filter *filter, const uint8_t *text, size_t *at, size_t n);

typedef struct {
    uint64_t *slots; /* open addressing: (node << 8 | byte) << 28 | child; 0 is free */
    uint32_t *token; /* [n_nodes] number + 1 of the token that ends there, 0 for none */
    uint32_t *only;  /* [n_nodes] number + 1 of the token, where all ways lead to one alone; else UINT32_MAX */
    size_t mask, n_nodes;
} tk_added_trie;

typedef struct {
    tk_added_trie forward, backward; /* backward has the tokens from their ends, and exists if `fail` does */
    uint32_t *fail;                  /* [backward.n_nodes] the longest proper suffix that is a node */
    uint8_t *contents;               /* the bytes of all tokens, */
    uint32_t *starts, *lengths;      /* [n_tokens] and where each one's lie */
    uint8_t *flags;                  /* [n_tokens] */
    size_t n_tokens, longest;
    uint32_t root[256];              /* children of the root */
    int n_first, only;               /* bytes that tokens begin with: how many, and the last of them */
    uint8_t is_short[256];           /* bytes that a token of less than four begins with */
    uint8_t *begins;                 /* bits: hashes of the first four, six or eight bytes of the others; */
    unsigned begins_shift;           /* 64 - log2 of how many bits */
    tk_added_filter filter;
    const tk_byte_kernels *by;
} tk_added;

/* Where a search has come to; all zero at the start of a text. The window need not be set. */
typedef struct {
    size_t from, taken;              /* where to look on; the end of the last token with its white space */
    size_t block, block_end;         /* places that have been filtered, */
    uint64_t candidates;             /* and what was found there */
    size_t wasted, since;            /* bytes that the trie has read in vain from there on */
    size_t white_start, white_end;   /* white space that has been read */
    size_t window_start, window_end; /* places whose longest token (number + 1) is known: */
    uint32_t window[TK_ADDED_WINDOW];
} tk_added_cursor;

typedef struct {
    size_t start, end; /* with the white space that it takes */
    uint32_t number;
} tk_added_match;

/* Token k has the bytes from ends[k - 1] (0 for the first) to ends[k]; one without bytes is never found, and of two
   alike the first is. 0, TK_NO_MEMORY or TK_TOO_LARGE. `isa` must be one that the machine supports. */
int tk_added_init(tk_added *set, const uint8_t *bytes, const int64_t *ends, const uint8_t *flags, size_t n_tokens,
                  int isa);
void tk_added_free(tk_added *set);

TK_INLINE void tk_added_start(tk_added_cursor *cursor) { memset(cursor, 0, offsetof(tk_added_cursor, window)); }

/* The next token of a text of valid UTF-8: 1 with the match, or 0. A token for which allowed[number] is 0 stays text,
   and no other is found within it; NULL allows all. As in tokenizers, a token that begins with white space is also
   found in white space that the one before has taken: its start then lies before the end of that. */
int tk_added_next(const tk_added *set, const uint8_t *text, size_t n, const uint8_t *allowed, tk_added_cursor *cursor,
                  tk_added_match *match);

/* The first token at or after `from`, without regard to what stands before that: 1 with the match, else 0. A text
   need not be UTF-8 if no token has flags. */
int tk_added_find(const tk_added *set, const uint8_t *text, size_t n, size_t from, tk_added_match *match);

/* Does the text of any token stand across `at`, some of it before and some after? With `beside`, a token that ends or
   begins there does as well. */
int tk_added_spans(const tk_added *set, const uint8_t *text, size_t n, size_t at, int beside);

/* Make the tokens in the pretokens of a text pretokens of their own, with their ids; 0 or a status. */
int tk_added_cut(const tk_added *set, const int64_t *ids, const uint8_t *allowed, tk_aligned *a);

#endif
