/* The kernels that work on floats: a table of them for each instruction set. */
#ifndef TK_FLOAT_KERNELS_H
#define TK_FLOAT_KERNELS_H
#include "embed/word2vec.h"
#include "embed/glove.h"
#include "embed/sparse.h"
#include "embed/fasttext.h"
#include "isa.h"
#include "nn/attend.h"
#include "nn/bags.h"
#include "nn/dots.h"
#include "nn/feature_attention.h"
#include "nn/linear.h"
#include "nn/rows.h"

typedef struct {
    /* attend.h: many queries at a time (lanes are queries), or few (lanes are the dimensions of a head) */
    tk_attend *flash, *decode;
    tk_attend *flash_bf16; /* tk_attend_bf16 where the CPU may multiply bf16 (tk_has_bf16), else NULL */
    tk_attend_features *features; /* feature_attention.h */
    /* linear.h; where the CPU may multiply bf16 (tk_has_bf16), those that do, else NULL */
    const tk_gemm_kernels *gemm, *gemm_bf16;
    tk_do_rows *rows[TK_ROW_KERNELS]; /* rows.h */
    tk_do_dots *dots;                 /* dots.h */
    tk_do_bags *bags;                 /* bags.h */
    tk_do_word2vec *word2vec;         /* word2vec.h */
    tk_do_glove *glove;               /* embed/glove.h */
    tk_do_sparse *sparse;             /* embed/sparse.h */
    const tk_fasttext_kernels *fasttext;
} tk_float_kernels;

/* Those of an instruction set that tk_isa_of_floats gave. */
const tk_float_kernels *tk_float_kernels_of(int isa);

#endif
