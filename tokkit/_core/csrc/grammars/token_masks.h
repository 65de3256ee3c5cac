/* The tokens that a grammar allows in a state: the trie of their bytes is traversed together with the machine. */
#ifndef TK_TOKEN_MASKS_H
#define TK_TOKEN_MASKS_H
#include "grammars/machine.h"

/* A trie in the order of a walk: a node, then what begins with it. Nodes have depths from 1. */
typedef struct {
    uint8_t byte;
    uint8_t any[TK_KINDS]; /* characters after this node in the longest token below; 255: not all of the kind */
    uint8_t few;           /* too few tokens begin so for a look at them as a whole to be worth it */
    uint16_t depth;        /* bytes from the root, this one included */
    uint32_t after; /* the first node that does not begin with this one */
    uint32_t token; /* the first place in `ids` that is of this node, or after it */
} tk_trie_node;

_Static_assert(sizeof(tk_trie_node) == 16, "four nodes in a line of the cache");

typedef struct tk_sorted_trie {
    tk_trie_node *nodes; /* [n_nodes + 1], the last one stands for the end */
    size_t n_nodes;
    uint32_t *ids; /* [n_ids + 1] in the order of their bytes; one more can be read */
    size_t n_ids;
    uint8_t *bits; /* of all its tokens */
    unsigned plain, max_depth; /* of all its nodes */
} tk_sorted_trie;

/* Tokens in groups: plain ones that are short, plain ones that are long, and all others (see machine.h on "plain"). */
enum { TK_TOKEN_GROUPS = 3 };

typedef struct {
    tk_sorted_trie groups[TK_TOKEN_GROUPS];
    size_t n_bits; /* of a mask */
} tk_token_tries;

TK_INLINE size_t tk_mask_bytes(size_t n_bits) { return (n_bits + 7) / 8; }

/* Build tries of n tokens with ids < n_bits: token i is blob[offsets[i]] up to blob[offsets[i + 1]], sorted by bytes;
   those without bytes are left out. TK_OK, TK_NO_MEMORY, or TK_TOO_LARGE for a token of more than 65,535 bytes. */
int tk_token_tries_build(tk_token_tries *tries, const uint8_t *blob, const int64_t *offsets, const uint32_t *ids,
                         size_t n, size_t n_bits);
void tk_token_tries_free(tk_token_tries *tries);

/* The trie of the same tokens in which bytes of one class are one byte: tokens that a machine does not tell apart share
   their nodes. One block of memory, or NULL where there is none. */
tk_sorted_trie *tk_trie_merge(const tk_sorted_trie *trie, const uint8_t *class_of);

/* The tokens that `state` allows: found in the machine, or computed and kept there. `first` where `tries` are those of
   the start of a text. TK_OK, or why not. */
int tk_allowed_tokens(tk_machine *machine, const tk_token_tries *tries, uint32_t state, int first, uint8_t *bits);

/* Logits of tokens without a bit become -infinity; those from n_bits on too. */
void tk_mask_logits(float *logits, size_t n, const uint8_t *bits, size_t n_bits);

#endif
