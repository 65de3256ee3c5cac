/* Training of fastText: vectors of words that are means of rows, and classifiers of lines. */
#ifndef TK_FASTTEXT_H
#define TK_FASTTEXT_H
#include "embed/labelled.h"
#include "embed/negatives.h"

enum { TK_LOSS_NEGATIVE, TK_LOSS_HIERARCHICAL, TK_LOSS_SOFTMAX, TK_LOSS_ONE_VS_ALL };

/* What a hidden vector is to predict, by rows of `output`. */
typedef struct tk_fasttext {
    float *input, *output; /* rows of `dim` floats without gaps */
    size_t dim, n_out;
    int loss;
    size_t negative;       /* samples for each target */
    tk_negatives negatives;
    const int64_t *path_ends; /* of the paths in the Huffman tree: inner nodes (rows of output), and the turns there */
    const uint32_t *path_nodes;
    const uint8_t *path_turns;
    const uint32_t *all; /* 0 … n_out - 1: the rows where every output is a target */
    const struct tk_fasttext *next; /* words are trained on it after each step of this; or NULL */
} tk_fasttext;

/* Of one thread. Sums of -log p, and how many were summed, are added up. */
typedef struct {
    float *hidden, *grad, *total; /* dim each */
    float *scores, *wanted;       /* of the targets of one prediction */
    uint32_t *targets;
    tk_line line, next;
    uint32_t *sentence;           /* what subsampling leaves of one */
    size_t sentence_capacity;
    tk_random random;
    double loss, product;         /* product of probabilities whose logarithm is not yet in `loss` */
    int64_t n;
    int status;
    uint8_t apart[TK_APART];
} tk_fasttext_worker;

/* Lines with labels: each is the mean of its rows. */
typedef struct {
    tk_fasttext model;
    tk_line_rows rows;
    const uint32_t *ids;
    const int64_t *ends;  /* of lines */
    int64_t begun, total; /* ids that were trained before, and that will have been at the end of all epochs */
    int64_t rate_each;    /* ids after which the learning rate falls */
    float lr;
    uint64_t seed;        /* of this epoch */
} tk_classifier_work;

/* Sentences: a word, the mean of its rows, predicts each word of its window, or is predicted by the mean of theirs. */
typedef struct {
    tk_fasttext model;
    const int64_t *row_ends; /* of each word, with `rows` */
    const uint32_t *rows;
    const float *gain;       /* of each word: what its mean gains where all of its rows gain 1 */
    const uint32_t *ids;
    const int64_t *ends;
    const uint32_t *keep;    /* of each word: kept where a draw of 32 bits is not above it; NULL keeps all */
    double alpha, alpha_fall, min_alpha; /* the learning rate at the first id, its fall with each, and its end */
    uint32_t window;
    int cbow, shrink, mean;  /* shrink: windows of 1 … window words; mean: not the sum, of CBOW's words */
    uint64_t seed;
} tk_fasttext_work;

/* Train on lines or sentences first … last - 1; `job` is one of the works. */
typedef void tk_fasttext_run(const void *job, size_t first, size_t last, tk_fasttext_worker *s);

typedef struct {
    tk_fasttext_run *classify, *words;
    /* Means of rows from ends[i - 1] to ends[i], for i from first to last - 1; 0 for none. */
    void (*means)(const float *matrix, size_t dim, const uint32_t *rows, const int64_t *ends, size_t first, size_t last,
                  float *out);
} tk_fasttext_kernels;

/* Train on n lines or sentences in `threads` threads: TK_OK or TK_NO_MEMORY; adds to *loss and *count. */
int tk_classifier_train(const tk_classifier_work *w, size_t first, size_t n, int isa, int threads, double *loss,
                        int64_t *count);
int tk_fasttext_train(const tk_fasttext_work *w, size_t first, size_t n, int isa, int threads, double *loss,
                      int64_t *count);

void tk_fasttext_means(const float *matrix, size_t dim, const uint32_t *rows, const int64_t *ends, size_t n, float *out,
                       int isa, int threads);
#endif
