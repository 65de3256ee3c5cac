/* Word2vec: skip-gram and CBOW, with negative sampling and hierarchical softmax (Mikolov et al. 2013). */
#ifndef TK_WORD2VEC_H
#define TK_WORD2VEC_H
#include "embed/negatives.h"
#include "embed/own_rows.h"

typedef struct {
    const uint32_t *ids; /* sentence s is ids[ends[s - 1]] … ids[ends[s] - 1] */
    const int64_t *ends;
    float *in;    /* (words, d) */
    float *out;   /* (words, d) for negative sampling, or NULL */
    float *nodes; /* (words - 1, d) for hierarchical softmax, or NULL */
    size_t n, d;  /* words, dimensions */
    int copies;   /* several threads copy rows that change often */
    int parts;    /* several threads draw negative samples from different words; counts do not rise from word to word */
    const uint32_t *keep; /* an occurrence is kept if keep[id] is not below 32 random bits; NULL: all are */
    tk_negatives negatives;
    size_t negative; /* samples of each pair, or of each word of CBOW */
    /* The path of a word from the root: inner nodes path_nodes[path_ends[word - 1]] …, and the turn at each, 0 or 1. */
    const int64_t *path_ends;
    const uint32_t *path_nodes;
    const uint8_t *path_turns;
    uint32_t window;
    int shrink;    /* windows are drawn from 1 … window */
    int skip_gram; /* else CBOW */
    int mean;      /* CBOW: the mean of the context, else the sum */
    int batched;   /* skip-gram with negative sampling: a window is one step, with one set of negative samples */
    int losses;    /* add them up */
    uint64_t seed;
} tk_word2vec;

/* Part of an epoch. */
typedef struct {
    size_t from, to; /* sentences */
    uint64_t epoch;
    double alpha, alpha_fall; /* the learning rate of the first id of the corpus, and how much it falls with each id */
    double min_alpha;
    /* what comes out */
    uint64_t words; /* that were kept and trained on */
    double loss;    /* sum of -log of the probabilities of all targets, samples and turns */
} tk_word2vec_part;

/* What a thread needs; see word2vec.c. */
typedef struct {
    uint32_t *words;            /* of a sentence, after sampling */
    float **targets;            /* rows: TK_WORD2VEC_AHEAD + 1 times 1 + negative */
    float **rows;               /* of a context */
    float *hidden, *step;       /* d: the mean of a context, and how the input changes */
    tk_own_rows in, out, nodes; /* with copies of frequent words, and of the top of the tree */
    int several;                /* threads: one alone has no need of what follows */
    /* Steps from one that adds what has changed in its copies to the next, more and more; at most; and until then. */
    size_t add_after, most_after, left;
    uint32_t drawn_by_all;      /* negative samples below this are as drawn; of the numbers of others … */
    uint32_t part, part_mask;   /* … these bits become `part` */
    uint64_t n_words;
    double loss;
    uint8_t apart[TK_APART];
} tk_word2vec_scratch;

/* Steps whose rows are asked for before they are needed: bench_word2vec. */
enum { TK_WORD2VEC_AHEAD = 2, TK_LINE_FLOATS = 16 };

/* Train on sentences from … to - 1. */
typedef void tk_do_word2vec(const tk_word2vec *w, const tk_word2vec_part *part, size_t from, size_t to,
                            tk_word2vec_scratch *scratch);

/* Train with several threads, which change the same vectors without locks, but for the rows that they copy
   (own_rows.h), and draw negative samples from different parts of the words: TK_OK or TK_NO_MEMORY. With one thread the
   result depends on nothing but the arguments, and not on how an epoch is cut into parts. */
int tk_word2vec_run(const tk_word2vec *w, tk_word2vec_part *part, int isa, int threads);
#endif
