/* Defines the table of float kernels of one instruction set: a float_kernels_*.c includes this once, after its vectors
   (lanes_*.h), with TK_TABLE for the name of the table, and TK_GEMM_BF16 for the products of bf16 if it has any. */
#include "nn/float_kernels.h"

#include "embed/word2vec_loops.h"
#include "embed/glove_loops.h"
#include "embed/sparse_loops.h"
#include "embed/fasttext_loops.h"
#include "nn/attend_decode.h"
#include "nn/attend_flash.h"
#include "nn/bags_loops.h"
#include "nn/dots_loops.h"
#include "nn/feature_attention_loops.h"
#include "nn/gemm_loops.h"
#include "nn/rows_loops.h"

static const tk_gemm_kernels gemm = {gemm_part, quantise_row, quantise_groups};

extern const tk_float_kernels TK_TABLE;
const tk_float_kernels TK_TABLE = {
    .flash = attend_flash,
    .decode = attend_decode,
    .features = attend_features,
    .gemm = &gemm,
#ifdef TK_GEMM_BF16
    .gemm_bf16 = &TK_GEMM_BF16,
    .flash_bf16 = tk_attend_bf16,
#endif
    .rows = ROW_KERNELS,
    .dots = dots,
    .bags = bags,
    .word2vec = word2vec,
    .glove = glove,
    .sparse = sparse,
    .fasttext = &fasttext,
};
