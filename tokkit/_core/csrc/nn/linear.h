/* activation(x Wᵀ + bias) + residual, with a packed weight matrix.

   W (n, k) is kept in panels of 32 columns of Wᵀ, [panel][k][32], which every instruction set reads as they are; the
   last panel is filled up with zeros. As bf16 the weights take half the room, two steps of k side by side; they are
   widened as they are read, or, where the CPU multiplies bf16, rows of x are rounded to it too. As int8 they have one
   scale a column, and each row of x is put on a scale and a zero point of its own: products and sums are then whole
   numbers, the same on every machine.

   In groups, 32 inputs of a column have a scale of their own (a half), and may have a minimum: a weight is
   scale * (q - 8), or scale * q - minimum, with q of 0 … 15, and for int8 scale * (q - 128) with q of 0 … 255. Groups
   of 32 columns lie together, [panel][group]: 32 scales; 32 minima if there are any; and what a vector of columns takes
   at a time, for int4 [4][32][4] bytes of inputs 4 s … 4 s + 3 in the low halves and 16 later ones in the high halves,
   for int8 [8][32][4] bytes. Each row of x is put on a scale for every 32 inputs. */
#ifndef TK_LINEAR_H
#define TK_LINEAR_H
#include "base.h"

enum { TK_PANEL = 32, TK_GROUP = 32, TK_BLOCK_MOST = 128 /* rows of a part */ };
enum { TK_INT8_MOST_K = 65536 /* 255 * 127 * k fits into an int32 */ };
enum { TK_F32, TK_BF16, TK_INT8, TK_INT4, TK_INT8_GROUPS };

typedef struct {
    size_t n, k, panels;
    int kind, minima; /* minima: groups have them */
    void *weights;    /* float, uint16_t [panel][k / 2][32][2], int8_t [panel][k / 4][32][4], or groups; on 64 bytes */
    float *bias;      /* panels * 32 */
    float *scale;     /* of a column, for int8 */
    int32_t *totals;  /* of a column's int8 weights */
} tk_linear;

_Static_assert(TK_PANEL == 32 && TK_GROUP == 32, "the layouts above, which files have");
_Static_assert(255LL * 127 * TK_INT8_MOST_K <= INT32_MAX, "sums of int8 products");

/* A matrix is one image in memory, weights, bias and the others, which a file may hold. Its bytes, a multiple of 64;
   0 where they are too many. */
size_t tk_linear_bytes(size_t n, size_t k, int kind, int minima);

/* Find the parts of an image, which is on 64 bytes and outlives *l. */
void tk_linear_over(tk_linear *l, void *image, size_t n, size_t k, int kind, int minima);

/* Fill an image of zeros: rows of w are `step` floats apart; bias may be NULL. */
void tk_linear_pack(tk_linear *l, const float *w, size_t step, const float *bias);

/* Groups of `columns` columns from `first` on as others have quantised them: q, a byte for 2 inputs as above or one of
   int8 each; scales and minima (or NULL) as halves. Each with the bytes from one column to the next and from one group
   to the next. */
typedef struct {
    const uint8_t *q;
    const uint8_t *scales, *minima;
    ptrdiff_t q_column, q_group, scale_column, scale_group, minimum_column, minimum_group;
} tk_blocks;
/* TK_BAD_INPUT where a scale or a minimum is not finite. */
int tk_linear_put_blocks(tk_linear *l, const tk_blocks *b, size_t first, size_t columns);

/* Column c of groups as floats, k of them: a row of W as it is stored. */
void tk_linear_read_column(const tk_linear *l, size_t c, float *out);

static inline size_t tk_groups(size_t k) { return k / TK_GROUP + (k % TK_GROUP != 0); }
/* Bytes of scales and minima before the numbers of a group of 32 columns, and of all of it. */
static inline size_t tk_group_head(const tk_linear *l) { return l->minima ? 4 * TK_PANEL : 2 * TK_PANEL; }
static inline size_t tk_group_bytes(const tk_linear *l) {
    return tk_group_head(l) + (size_t)TK_PANEL * TK_GROUP / (l->kind == TK_INT4 ? 2 : 1);
}

typedef struct {
    const tk_linear *l;
    const float *x, *residual; /* residual may be NULL */
    float *y;
    size_t m;
    ptrdiff_t x_step, y_step, residual_step;
    int activation;     /* of lanes_math.h */
    int wide;           /* 1: not to round rows of x to bf16; -1: to do it where the CPU can; 0: where that is faster */
    int fetch;          /* whether the weights of few rows are to be fetched ahead, which not every CPU does better */
    const uint8_t *x8;  /* [m][x8_step]: quantised rows, for int8 (x_spread of lanes_*.h); rows of bf16 where the
                           CPU multiplies them; for groups [group][m] of tk_x_group */
    size_t x8_step;
    const float *x_scale;
    const int32_t *x_zero;
} tk_product;

/* 32 inputs of a row of x: scale * q, in the order in which a kernel of groups reads them. */
typedef struct {
    float scale, offset; /* offset: -scale times the sum of q, for minima */
    int32_t start;       /* of the sums: what takes back that weights are kept from 0 up */
    int32_t unused;
    int32_t q[16]; /* 8 for int4: see tk_x_bytes */
} tk_x_group;
static inline size_t tk_x_bytes(const tk_linear *l) { return l->kind == TK_INT4 ? 48 : sizeof(tk_x_group); }

typedef struct {
    /* Rows from … to by panels first … last. */
    void (*part)(const tk_product *p, size_t from, size_t to, size_t first, size_t last);
    /* x = scale * (out - zero), in `room` bytes of which half is enough for k; scale is NaN where some x is not finite.
       Of tk_gemm_bf16, out is x rounded to bf16, and scale and zero are left alone. */
    void (*quantise)(const float *x, size_t k, uint8_t *out, size_t room, float *scale, int32_t *zero);
    /* A row of x for groups, each `step` bytes after the one before. */
    void (*quantise_groups)(const float *x, const tk_linear *l, uint8_t *out, size_t step);
} tk_gemm_kernels;
extern const tk_gemm_kernels tk_gemm_bf16;
int tk_has_bf16(void);  /* whether tk_gemm_bf16 can run here */
int tk_fast_bf16(void); /* and is faster than weights that are widened */

int tk_linear_run(tk_product *p, int isa, int threads);
#endif
