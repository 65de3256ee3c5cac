/* A grammar over bytes: rules that call one another, each a nondeterministic automaton. grammars/network.py makes it.

   A node has edges (a range of bytes, and the node it leads to), and jumps, which read no byte: to a node directly, or
   through a whole rule. */
#ifndef TK_NETWORK_H
#define TK_NETWORK_H
#include "base.h"

#define TK_NO_RULE UINT32_MAX

typedef struct {
    const uint32_t *first_edge, *first_jump; /* [n_nodes + 1] */
    const uint8_t *low, *high;               /* of edges; those of a node rise, and have no byte in common */
    const uint32_t *target;
    const uint32_t *entry, *resume; /* of jumps: the first node of the rule to go through, or TK_NO_RULE; and then */
    const uint8_t *ends;            /* [n_nodes] 1: the rule ends here, and nothing goes on */
    size_t n_nodes;
    uint32_t start;
    const uint8_t *class_of; /* [256] bytes that no edge tells apart share a class */
    const uint8_t *example;  /* [n_classes] a byte of each */
    unsigned n_classes;
} tk_network;

#endif
