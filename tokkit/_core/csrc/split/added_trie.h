/* The tries of added tokens, for the code that builds and reads them. */
#ifndef TK_ADDED_TRIE_H
#define TK_ADDED_TRIE_H
#include "split/added.h"

#define NODE_BITS 28
#define MOST_NODES ((size_t)1 << NODE_BITS)

_Static_assert(2 * NODE_BITS + 8 == 64, "a slot holds a node, a byte and a child");

TK_INLINE uint64_t trie_key(uint32_t node, uint8_t byte) { return (uint64_t)node << 8 | byte; }

/* The slot that has the child, or is free for it. */
TK_INLINE uint64_t *trie_slot(const tk_added_trie *t, uint32_t node, uint8_t byte) {
    TK_ASSERT(node < t->n_nodes && !(t->mask & (t->mask + 1)));
    const uint64_t key = trie_key(node, byte);
    size_t i = (size_t)(tk_mix64(key) >> 8) & t->mask;
    while (t->slots[i] && t->slots[i] >> NODE_BITS != key) i = (i + 1) & t->mask;
    return t->slots + i;
}

/* The child, or 0 for none. */
TK_INLINE uint32_t trie_child(const tk_added_trie *t, uint32_t node, uint8_t byte) {
    return (uint32_t)(*trie_slot(t, node, byte) & (MOST_NODES - 1));
}

/* The node of the longest suffix of what has been read that is one, with one more byte. */
TK_INLINE uint32_t trie_step(const tk_added_trie *t, const uint32_t *fail, uint32_t node, uint8_t byte) {
    uint32_t child;
    while (!(child = trie_child(t, node, byte)) && node) node = fail[node];
    return child;
}

/* The place in `begins` of the first n (4, 6 or 8) bytes. */
TK_INLINE size_t added_hash(const tk_added *s, const uint8_t *p, unsigned n) {
    uint32_t first;
    uint16_t third;
    uint64_t bytes;
    if (n == 8) {
        bytes = tk_load64(p);
    } else { /* six bytes put together in memory would have to be waited for */
        memcpy(&first, p, 4);
        memcpy(&third, p + n - 2, 2);
        bytes = first | (uint64_t)third << 32;
    }
    return (size_t)((bytes + n) * UINT64_C(0x9E3779B97F4A7C15) >> s->begins_shift);
}

#endif
