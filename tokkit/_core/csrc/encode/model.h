/* The interface of the models of tokenizer.json, which turn the pretokens of an aligned text into tokens.

   A model makes the tokens of one pretoken; the loop over pretokens and the output are here. A model is immutable; one
   thread at a time uses a worker. */
#ifndef TK_MODEL_H
#define TK_MODEL_H
#include "text/aligned.h"
#include "encode/char_merge.h"

typedef struct tk_model tk_model;
typedef struct tk_model_worker tk_model_worker;

typedef struct {
    uint32_t id, length;
} tk_symbol;

/* A token of a pretoken, in bytes of it. */
typedef struct {
    uint32_t id, start, end;
} tk_sub;

typedef struct {
    double score;
    uint32_t start, id; /* of the best token that ends here; start is TK_NO_ID where none does */
} tk_lattice_node;

struct tk_model_worker {
    tk_sub *subs; /* tokens of the pretoken that was encoded last, */
    size_t n_subs, subs_capacity;
    uint32_t *ids; /* and of the whole text */
    int64_t *spans;
    int32_t *words;
    size_t n, ids_capacity, spans_capacity, words_capacity;
    size_t failed; /* the pretoken that has no tokens, after TK_UNENCODABLE */
    int drops;     /* the model's dropout is on, and this is the state of its generator */
    uint64_t random;
    tk_symbol *symbols; /* scratch of the models */
    tk_merge_scratch merge;
    tk_lattice_node *lattice;
    size_t symbols_capacity, lattice_capacity;
};

/* A worker that is all zero is one. */
void tk_model_worker_free(tk_model_worker *w);

/* Give back what is above `most` bytes in any of its arrays. */
void tk_model_worker_shrink(tk_model_worker *w, size_t most);

/* One more token of the pretoken; 0 or TK_NO_MEMORY. */
TK_INLINE int tk_sub_add(tk_model_worker *w, uint32_t id, size_t start, size_t end) {
    if (TK_UNLIKELY(w->n_subs == w->subs_capacity)) {
        int status = tk_reserve(&w->subs, &w->subs_capacity, w->n_subs + 1, sizeof(tk_sub));
        if (status != TK_OK) return status;
    }
    w->subs[w->n_subs++] = (tk_sub){id, (uint32_t)start, (uint32_t)end};
    return TK_OK;
}

typedef struct {
    uint64_t prefixed;  /* the node that the prefix leads to */
    const uint8_t *prefix, *suffix;
    size_t n_prefix, n_suffix;
    tk_char_pairs pairs;
    const uint32_t *merges; /* [n][3] left, right, result, by rank */
    double dropout;
    int fuses, drops_unknown;
    uint32_t end; /* the suffix as a symbol of its own, which covers nothing; TK_NO_ID: it is part of the last one */
} tk_char_bpe;

typedef struct {
    const double *scores;
    double unknown_score;
} tk_unigram;

typedef struct {
    tk_token_trie inner; /* what begins with the prefix of a word's inner tokens, without that */
    size_t most_characters;
} tk_wordpiece;

struct tk_model {
    /* Put the tokens of a pretoken of n bytes, n > 0, into the worker's subs. TK_OK, TK_NO_MEMORY or TK_UNENCODABLE. */
    int (*encode)(const tk_model *model, tk_model_worker *w, const uint8_t *bytes, size_t n);
    /* Write the ids of n bytes without places, at most n of them: where no component runs before the model. NULL for a
       model that has none. TK_OK or TK_UNENCODABLE. */
    int (*encode_ids)(const tk_model *model, const uint8_t *bytes, size_t n, uint32_t *ids, size_t *count);
    int uncached;                  /* encode_ids takes less time than a look-up, for bytes in any spans */
    int by_bytes;                  /* tokens may begin and end inside characters, and no byte is dropped */
    void (*free)(tk_model *model); /* of what is its own; may be NULL */
    tk_token_trie trie;
    uint32_t unknown;       /* id, or TK_NO_ID */
    int whole_piece;        /* a pretoken that is a token is that token */
    int byte_fallback;
    int cuts_at_blanks;     /* BPE: U+2581 after another character begins what merges by itself; */
    int falls_back;         /* a character without a token becomes tokens of bytes, which nothing merges */
    uint8_t *neighbors;     /* BPE: those in tokens (split/neighbors.h), where nothing else joins characters; or NULL */
    uint32_t bytes[256];    /* the ids of <0x00> to <0xFF> */
    union {
        tk_char_bpe bpe;
        tk_unigram unigram;
        tk_wordpiece wordpiece;
        uint32_t first_byte; /* bytes: the id of the byte 0 */
    };
};

/* What is the same in all models, from the options. `prefix` and so on are kept: the owner keeps them alive. */
typedef struct {
    uint32_t unknown;
    int byte_fallback, whole_piece, fuses, drops_unknown;
    int suffix_apart; /* BPE */
    const uint8_t *prefix, *suffix;
    size_t n_prefix, n_suffix;
    const uint32_t *merges; /* BPE: [n_merges][3] */
    size_t n_merges;
    double dropout;
    const double *scores; /* Unigram: [n_ids] */
    double least_score;
    size_t most_characters; /* WordPiece: a longer word is unknown */
    uint32_t first_byte;    /* bytes: the id of the byte 0 */
} tk_model_options;

/* Fill *model. TK_OK, TK_NO_MEMORY, TK_TOO_LARGE, or TK_BAD_INPUT with *culprit the id of a token whose bytes have
   another id too, or -1 - the number of a merge that does not fit. */
int tk_char_bpe_build(tk_model *m, const tk_own_tokens *own, const tk_model_options *o, int64_t *culprit);
int tk_unigram_build(tk_model *m, const tk_own_tokens *own, const tk_model_options *o, int64_t *culprit);
int tk_wordpiece_build(tk_model *m, const tk_own_tokens *own, const tk_model_options *o, int64_t *culprit);
int tk_wordlevel_build(tk_model *m, const tk_own_tokens *own, const tk_model_options *o, int64_t *culprit);
int tk_longest_match_build(tk_model *m, const tk_own_tokens *own, const tk_model_options *o, int64_t *culprit);
int tk_bytes_build(tk_model *m, const tk_own_tokens *own, const tk_model_options *o, int64_t *culprit);
void tk_model_free(tk_model *m);

/* For those with a trie: the trie of all tokens up to `longest` bytes, and the ids of bytes. */
int tk_model_begin(tk_model *m, const tk_own_tokens *own, const tk_model_options *o, size_t longest,
                   int64_t *culprit);

/* Put the tokens of a text into the worker: ids, spans in the original, numbers of the pretokens. */
int tk_model_encode(const tk_model *model, tk_model_worker *w, const tk_aligned *text);

#endif
