/* The lattice of all segmentations of the buffer: n-best, sampling and entropy of Unigram; see sp_engine.h.

   An arc is a piece, or an unknown character, at a place. Scores are float32 as in tk_sp_best; the sums over all ways
   are of doubles, in logarithms. */
#ifndef TK_SP_LATTICE_H
#define TK_SP_LATTICE_H
#include "sentencepiece/sp_engine.h"

typedef struct {
    uint32_t start, end, id;
    float score, best; /* of the piece; of the best way from the beginning to its end */
} tk_sp_arc;

typedef struct {
    tk_sp_arc *arcs; /* by their starts */
    size_t n_arcs, arcs_capacity, n; /* n: bytes */
    uint32_t *first, *order;         /* the arcs that end at a place are order[first[place]] up to first[place + 1] */
    double *sums;                    /* [n + 1] the logarithm of the sum over all ways to a place */
} tk_sp_lattice;

/* A way, from the last arc on; and one of which only the end is known: `next` is what follows it. */
typedef struct {
    uint32_t arc, next;
    double total, so_far; /* the score of the whole, at best; of what is known */
} tk_sp_way;

typedef struct {
    tk_sp_way *ways;
    size_t n_ways, ways_capacity;
    uint32_t *heap, *found; /* numbers of ways: those to look at; those that are whole, the best first */
    size_t n_heap, heap_capacity, n_found, found_capacity;
} tk_sp_search;

int tk_sp_lattice_build(tk_sp_lattice *l, const tk_sp *m, const uint8_t *p, size_t n);
void tk_sp_lattice_free(tk_sp_lattice *l);

/* Fill `sums`, of scores times alpha. */
void tk_sp_lattice_sum(tk_sp_lattice *l, double alpha);

/* Of the distribution that `sums` are of: the entropy, in nats; and a way by chance, as arcs in `path`, which holds
   n, from the last to the first. Returns their number. */
double tk_sp_lattice_entropy(const tk_sp_lattice *l, double alpha, double *scratch);
size_t tk_sp_lattice_sample(const tk_sp_lattice *l, double alpha, uint64_t *random, uint32_t *path);

/* The n best ways: of the scores; or, if `random`, of the scores times alpha, each with noise of its own (Gumbel), as
   drawn without replacement (Kool et al. 2019, "Stochastic beams and where to find them", algorithm 1). `so_far` of
   those found is then the logarithm of their probability. */
int tk_sp_lattice_search(const tk_sp_lattice *l, tk_sp_search *s, size_t n, double alpha, uint64_t *random);
void tk_sp_search_free(tk_sp_search *s);

#endif
