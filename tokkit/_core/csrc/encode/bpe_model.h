/* The tables of a vocabulary for merging. Immutable once built, so threads share them.

   Inside, tokens have numbers of their own: 0-255 are the bytes, then come the merged tokens in order of
   priority. So the priority of a merge is the number of its result, and one comparison decides. `id` leads
   back to the vocabulary's ids.

   Only one pair can ever become a given token: up to that merge, what happens inside the token's bytes is
   what happens to these bytes alone (every merge is the least by (priority, place), so it is the least of
   those inside as well), and that has a single last state of two symbols. This canonical pair is found by
   merging each token's bytes, shortest tokens first; all other splits are left out, for rank BPE and merge
   lists alike. A token without one is unreachable: only a whole pretoken can be it. */
#ifndef TK_BPE_MODEL_H
#define TK_BPE_MODEL_H
#include <stdatomic.h>

#include "base.h"
#include "split/safe_cuts.h"

#define TK_NONE UINT32_MAX
#define TK_NUMBER_BITS 21
#define TK_MAX_TOKENS ((UINT32_C(1) << TK_NUMBER_BITS) - 1)

typedef struct tk_trie tk_trie;

/* Tokens are sorted into tries by their first byte, by the second too where the first is a space (in most
   vocabularies nearly half of all tokens begin with one), and by the two first bytes of a character of three:
   these are a script, and a text of one script pays for no other's trie. */
enum { TK_BY_SCRIPT = 512, TK_BUCKETS = TK_BY_SCRIPT + 2 * 16 * 64 };
enum { TK_FILTER_BITS = 21 };

TK_INLINE unsigned tk_bucket(const uint8_t *bytes, size_t n) {
    size_t at = bytes[0] == ' ' && n > 1;
    unsigned lead = bytes[at];
    if (lead >> 4 == 0xE && n > at + 1 && bytes[at + 1] >> 6 == 2)
        return TK_BY_SCRIPT + (unsigned)(at << 10) + ((lead & 15) << 6) + (bytes[at + 1] & 63u);
    return at ? 256 + lead : lead;
}

typedef struct {
    uint32_t n;               /* token numbers run from 0 to n - 1 */
    tk_token *id;             /* [n] the vocabulary's id; TK_NONE for a byte that is no token and is dropped */
    uint32_t *left, *right;   /* [n] canonical pair; TK_NONE for bytes and for tokens no merge makes */
    const uint8_t **bytes;    /* [n] into the vocabulary's blob, which the owner keeps alive */
    uint32_t *length;         /* [n] bytes of the token; 0 for a merge that never happens */
    uint32_t *byte_pairs;     /* [65536] two bytes → number or TK_NONE */
    /* What is least among the merges of a token that ends in one byte with another byte (first << 8 | second), and of a
       byte with a token that begins with another: what takes a byte away from its neighbour; bpe_merge.c. */
    uint32_t *least_before, *least_behind;
    uint32_t *least_before_two; /* the same before the two first bytes of a character of three: tk_before_two */
    uint64_t *pairs;          /* open addressing: left 21 bits | right 21 | result 21; all ones is free */
    uint8_t *pair_filter;     /* 2^TK_FILTER_BITS bits: a pair whose bit is clear is not in `pairs` */
    unsigned pair_shift;      /* 64 - log2(slots) */
    size_t pair_mask;
    int whole_piece;          /* a pretoken that is a token gets its id without merging */
    _Atomic(int) monotone;    /* every token has a greater number than its two parts: bpe_backtrack.h works */
    uint32_t unreachable;     /* tokens that only whole pretokens can be */
    tk_cuts cuts;             /* boundaries that no token spans */
    uint32_t *by_bucket;      /* tokens that merging makes, by tk_bucket, the shortest first */
    uint32_t bucket[TK_BUCKETS + 1]; /* where in by_bucket those of a bucket start */
    _Atomic(tk_trie *) tries[TK_BUCKETS]; /* bpe_backtrack.h; built when long pretokens need them, published whole */
} tk_bpe;

/* What the model is made from. Token i of the vocabulary is blob[offsets[i]] up to blob[offsets[i + 1]]. */
typedef struct {
    const uint8_t *blob;
    const int64_t *offsets;
    size_t n_ids;
    const uint8_t *special;   /* [n_ids] 1 where the id is a special token's: never a result of merging */
    const uint32_t *merges;   /* [n_merges][3] left, right, result by priority; NULL for rank BPE */
    size_t n_merges;
    int whole_piece;
    int drops_unknown;        /* a byte that is no token gets no id, in place of an error; for merge lists */
} tk_vocabulary;

/* Fill *model. TK_OK, TK_NO_MEMORY, TK_TOO_LARGE (more than TK_MAX_TOKENS), or TK_BAD_INPUT with *culprit the
   byte (0-255) that has no token, or 256 + the number of a merge that names an id out of range or whose
   result is not its parts joined. */
int tk_bpe_build(tk_bpe *model, const tk_vocabulary *vocabulary, size_t *culprit);
void tk_bpe_free(tk_bpe *model);
int tk_cuts_build(tk_bpe *model); /* the last step of tk_bpe_build */

/* The place in least_before_two of two bytes after a token that ends in `last`, 0x80 to 0xBF. */
TK_INLINE size_t tk_before_two(const uint8_t *two, uint8_t last) {
    return (size_t)(two[0] & 15) << 12 | (size_t)(two[1] & 63) << 6 | (last & 63);
}

TK_INLINE uint64_t tk_pair_hash(uint32_t a, uint32_t b) {
    return ((uint64_t)a << TK_NUMBER_BITS | b) * UINT64_C(0x9E3779B97F4A7C15);
}

/* The result of merging a and b, or TK_NONE. Most pairs do not merge, and most of these the filter knows: it
   stays in the second-level cache, the table does not. */
TK_INLINE uint32_t tk_pair(const tk_bpe *model, uint32_t a, uint32_t b) {
    if ((a | b) < 256) return model->byte_pairs[a << 8 | b];
    uint64_t hash = tk_pair_hash(a, b);
    if (!tk_has_bit(model->pair_filter, (size_t)(hash >> (64 - TK_FILTER_BITS)))) return TK_NONE;
    uint64_t key = (uint64_t)a << (2 * TK_NUMBER_BITS) | (uint64_t)b << TK_NUMBER_BITS;
    for (size_t slot = (size_t)(hash >> model->pair_shift);; slot = (slot + 1) & model->pair_mask) {
        uint64_t entry = model->pairs[slot];
        if ((entry ^ key) >> TK_NUMBER_BITS == 0) return (uint32_t)entry & TK_MAX_TOKENS;
        if (entry == UINT64_MAX) return TK_NONE;
    }
}

#endif
