/* A trie of the bytes of tokens: finds all tokens that a text begins with, with one load for each byte.

   A node is a 64-bit cell: its token's id + 1 (0: none ends here) in the low 23 bits, then the byte that leads to
   it and a bit that says that the cell is taken, then in the upper half where its children stand: the child by byte
   b is cell (base ^ b). No two nodes share a base, so a child whose byte is right is this node's. */
#ifndef TK_TOKEN_TRIE_H
#define TK_TOKEN_TRIE_H
#include "base.h"

typedef struct {
    uint64_t *cells; /* in blocks of 256 */
    size_t n_cells;
    uint64_t root;   /* 0: there is no token */
} tk_token_trie;

/* The tokens of a model. Token i is blob[offsets[i]] up to blob[offsets[i + 1]], empty where no token has the id. */
typedef struct {
    const uint8_t *blob;
    const int64_t *offsets;
    size_t n_ids;
    const uint8_t *excluded; /* [n_ids] 1 where the token is not the model's */
} tk_own_tokens;

TK_INLINE size_t tk_own_length(const tk_own_tokens *own, size_t id) {
    return own->excluded[id] ? 0 : (size_t)(own->offsets[id + 1] - own->offsets[id]);
}

TK_INLINE const uint8_t *tk_own_bytes(const tk_own_tokens *own, size_t id) { return own->blob + own->offsets[id]; }

enum { TK_TRIE_ID_BITS = 23, TK_TRIE_TAKEN = 0x100 };

/* Fill *trie with the tokens that begin with `prefix`, of no more than `longest` bytes, without that prefix. Of two
   tokens with the same bytes the one with the greater id counts, and *twice is its id, else it stays as it is.
   TK_OK, TK_NO_MEMORY, or TK_TOO_LARGE (ids that do not fit, or 2^32 cells). */
int tk_token_trie_build(tk_token_trie *trie, const tk_own_tokens *own, const uint8_t *prefix, size_t n_prefix,
                        size_t longest, int64_t *twice);
void tk_token_trie_free(tk_token_trie *trie);

/* The child of a node by a byte, or 0. `node` is not 0. */
TK_INLINE uint64_t tk_trie_step(const tk_token_trie *trie, uint64_t node, uint8_t byte) {
    TK_ASSERT(node && ((node >> 32) ^ byte) < trie->n_cells);
    uint64_t child = trie->cells[(node >> 32) ^ byte];
    return ((child >> TK_TRIE_ID_BITS) & 0x1FF) == (TK_TRIE_TAKEN | byte) ? child : 0;
}

/* The id of the token that ends at a node, or TK_NO_ID. */
#define TK_NO_ID UINT32_MAX
TK_INLINE uint32_t tk_trie_id(uint64_t node) {
    return ((uint32_t)node & ((UINT32_C(1) << TK_TRIE_ID_BITS) - 1)) - 1;
}

/* The node that n bytes lead to, or 0. */
TK_INLINE uint64_t tk_trie_walk(const tk_token_trie *trie, uint64_t node, const uint8_t *bytes, size_t n) {
    for (size_t i = 0; i < n && node; i++) node = tk_trie_step(trie, node, bytes[i]);
    return node;
}

/* The id of the token that is these bytes, or TK_NO_ID. */
TK_INLINE uint32_t tk_trie_find(const tk_token_trie *trie, const uint8_t *bytes, size_t n) {
    return tk_trie_id(tk_trie_walk(trie, trie->root, bytes, n));
}

#endif
