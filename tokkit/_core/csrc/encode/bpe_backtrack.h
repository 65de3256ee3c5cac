/* Byte-pair encoding of long pretokens in linear time: longest match, proved pair by pair.

   A sequence of tokens is what merging gives if and only if each adjacent pair is what merging gives for the
   bytes of that pair (the first merge across a boundary would be one inside the pair alone as well). So any
   way of guessing that ends in a sequence of valid pairs has the one right answer; a place that no
   continuation leads on from is dead for good and never tried again. */
#ifndef TK_BPE_BACKTRACK_H
#define TK_BPE_BACKTRACK_H
#include "encode/bpe_merge.h"

/* Below this many bytes plain merging is faster than walking the trie: characters of three bytes begin with two
   merges that the walk saves. */
enum { TK_LONG_PIECE = 48, TK_LONG_WIDE = 24 };

/* The tokens of one bucket. A hash table of (node, symbol) → node: a symbol is a character of three bytes, or else a
   byte, so that what such scripts share of each character is not walked anew. Node 0 is their first byte where they
   have it in common as a symbol. */
struct tk_trie {
    uint64_t *edges;     /* node << 44 | symbol << 20 | child; all ones is free */
    unsigned shift;
    size_t mask;
    size_t rooted;       /* bytes of node 0: 1 or 0 */
    uint32_t *token;     /* [nodes] the token that ends here, or TK_NONE */
    uint32_t *shorter;   /* [nodes] the node of the longest token that is shorter, or TK_NONE */
    size_t nodes, capacity;
};

void tk_trie_free(tk_trie *trie);

/* As tk_merge, for a model that is monotone. *count stays 0 where the caller has to merge instead: no sequence is
   found, which only a vocabulary that breaks the conditions can cause; too little text has asked for a trie yet, or
   there is no memory for it; or more than CANDIDATES_A_BYTE have been tried, as in a vocabulary made to that end. */
int tk_backtrack(tk_bpe *model, tk_merger *merger, const uint8_t *bytes, size_t n, uint32_t **symbols, size_t *count);

/* Does merging the bytes of a and then of b give just these two tokens? Both reachable, model monotone. */
int tk_valid_pair(const tk_bpe *model, uint32_t a, uint32_t b);

#endif
