/* A text in, the tokens of a SentencePiece model out, by the rules of SentencePiece 0.2.3, over the whole text at once.

   The plain way for all four kinds of models: no cache, no cuts. */
#ifndef TK_SP_WHOLE_H
#define TK_SP_WHOLE_H
#include "sp_normalize.h"

enum { TK_SP_UNIGRAM = 1, TK_SP_BPE, TK_SP_WORD, TK_SP_CHAR };     /* kinds, and */
enum { TK_SP_NORMAL = 1, TK_SP_UNKNOWN, TK_SP_CONTROL, TK_SP_USER_DEFINED, TK_SP_UNUSED, TK_SP_BYTE }; /* types */

typedef struct {
    int kind, byte_fallback, has_unused;
    tk_sp_normalizer normalizer;
    tk_token_trie pieces; /* those that text can be */
    const float *scores;  /* [n_pieces], of the owner, */
    const uint8_t *types; /* and these */
    size_t n_pieces;
    uint32_t unknown, bytes[256]; /* ids */
    float unknown_score;          /* of a character that is no piece */
} tk_sp_whole;

/* Build what `m` has pieces, scores and types for: `own` marks as foreign what text cannot be. TK_OK, TK_NO_MEMORY, or
   TK_BAD_INPUT for what is no charsmap. Freed by tk_sp_whole_free either way. */
int tk_sp_whole_init(tk_sp_whole *m, const tk_own_tokens *own, const uint8_t *charsmap, size_t n, tk_sp_options options,
                     const tk_own_tokens *symbols, const char **reason);
void tk_sp_whole_free(tk_sp_whole *m);

typedef struct {
    uint32_t id, length;
} tk_sp_step; /* a token, by the bytes that it covers */

typedef struct {
    size_t start, length, previous, next; /* of a run of characters; an empty one has been merged */
    int whole;                            /* a user-defined piece, which takes no part */
} tk_sp_symbol;

typedef struct {
    uint64_t key; /* the least first: greater scores, then the left */
    size_t left, right, length;
} tk_sp_pair;

typedef struct {
    tk_sp_text text; /* normalized */
    uint32_t *ids;   /* of one text after another: the caller empties them */
    int64_t *spans;  /* of each, (start, end) in the normalized text */
    size_t n, ids_capacity, spans_capacity;
    size_t first; /* the number of ids before this text's */
    float *best;  /* [bytes + 1] scratch of the models */
    tk_sp_step *steps, *path;
    tk_sp_symbol *symbols;
    tk_sp_pair *heap;
    uint32_t *left_of; /* [n_pieces] bytes of what an unused piece was merged of, on the left */
    size_t n_heap, best_capacity, steps_capacity, path_capacity, symbols_capacity, heap_capacity, left_of_capacity;
} tk_sp_worker;

void tk_sp_worker_free(tk_sp_worker *w);

/* Append the tokens of a text; `w->text` is what it was normalized to. TK_OK, TK_NO_MEMORY or TK_TOO_LARGE. */
int tk_sp_whole_encode(const tk_sp_whole *m, tk_sp_worker *w, const uint8_t *text, size_t n);

/* One more token with its span, as it is; TK_OK or TK_NO_MEMORY. */
int tk_sp_append(tk_sp_worker *w, uint32_t id, size_t start, size_t end);

/* A token that is text[start:end] of the normalized text; unknown ones are joined, or become bytes. */
int tk_sp_emit(const tk_sp_whole *m, tk_sp_worker *w, uint32_t id, size_t start, size_t end);

/* Bytes of the user-defined piece that begins at p; 0 where none does. */
TK_INLINE size_t tk_sp_symbol_at(const tk_sp_normalizer *z, const uint8_t *p, size_t n) {
    size_t length = 0;
    if (TK_LIKELY(!z->starts[p[0]])) return 0;
    uint64_t node = z->symbols.root;
    for (size_t k = 0; k < n && (node = tk_trie_step(&z->symbols, node, p[k])); k++)
        if (tk_trie_id(node) != TK_NO_ID) length = k + 1;
    return length;
}

int tk_sp_whole_bpe(const tk_sp_whole *m, tk_sp_worker *w);

#endif
