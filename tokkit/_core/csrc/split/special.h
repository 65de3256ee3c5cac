/* Finds special tokens in a text: the leftmost, then the longest. */
#ifndef TK_SPECIAL_H
#define TK_SPECIAL_H
#include "base.h"

typedef struct {
    uint32_t child, sibling; /* first child; next child of the same parent: 0 where there is none */
    uint32_t id;             /* UINT32_MAX where no token ends */
    uint8_t byte;
} tk_special_node;

typedef struct {
    tk_special_node *nodes; /* node 0 is the root */
    size_t n_nodes, capacity;
    uint32_t first[256];    /* the root's children by their byte, 0 where there is none */
    int n_first, only;      /* how many of them, and the byte of the last one */
    size_t longest;         /* bytes of the longest token */
} tk_special;

int tk_special_init(tk_special *special);
void tk_special_free(tk_special *special);
int tk_special_add(tk_special *special, const uint8_t *bytes, size_t n, uint32_t id);

/* The first special token at or after `from`: 1 with its place and id, else 0. */
int tk_special_find(const tk_special *special, const uint8_t *text, size_t n, size_t from, size_t *start,
                    size_t *end, uint32_t *id);

/* Does the text of any special token stand across `at`, some of it before and some after? With `beside`, a token that
   ends or begins there does as well. */
int tk_special_spans(const tk_special *special, const uint8_t *text, size_t n, size_t at, int beside);

#endif
