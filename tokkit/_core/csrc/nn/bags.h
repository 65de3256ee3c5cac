/* The mean of table rows for each bag of ids: the vector of a text from the vectors of its tokens. */
#ifndef TK_BAGS_H
#define TK_BAGS_H
#include "base.h"

typedef struct {
    const float *table;      /* rows of m floats, row_step items apart */
    ptrdiff_t row_step;
    size_t m;
    const uint32_t *ids;     /* bag i has ids[starts[i]] … ids[starts[i + 1] - 1] */
    const int64_t *starts;   /* (n + 1) */
    size_t n, max_ids;       /* only the first max_ids of a bag are read */
    const uint32_t *row_of;  /* the row of each id, or NULL where it is the id */
    const float *weights;    /* what the row of each id is multiplied by, or NULL */
    uint64_t ignored;        /* an id that does not count, or one that no id is equal to */
    int normalize;           /* rows of length 1 instead of means */
    float *out;              /* (n, m) without gaps; zeros for a bag without ids */
} tk_bag_work;

/* A bag's row depends on the bag alone: not on its number, nor on threads. */
typedef void tk_do_bags(const tk_bag_work *w, size_t from, size_t to);

void tk_bags_run(const tk_bag_work *w, int isa, int threads);
#endif
