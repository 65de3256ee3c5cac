/* activation(x Wᵀ + bias) + residual, by a weight matrix that is packed beforehand.

   W (n, k) is kept in panels of 32 columns of Wᵀ, [panel][k][32], which every instruction set reads as they are; the
   last panel is filled up with zeros. As bf16 the weights take half the room, two steps of k side by side; they are
   widened as they are read, or, where the CPU multiplies bf16, rows of x are rounded to it too. As int8 they have one
   scale a column, and each row of x is put on a scale and a zero point of its own: products and sums are then whole
   numbers, the same on every machine. */
#ifndef TK_LINEAR_H
#define TK_LINEAR_H
#include "base.h"

enum { TK_PANEL = 32, TK_INT8_MOST_K = 65536 /* 255 * 127 * k fits into an int32 */ };
enum { TK_F32, TK_BF16, TK_INT8 };

typedef struct {
    size_t n, k, panels;
    int kind;
    void *memory;    /* what the others point into */
    void *weights;   /* float, uint16_t [panel][k / 2][32][2] or int8_t [panel][k / 4][32][4]; on 64 bytes */
    float *bias;     /* panels * 32 */
    float *scale;    /* of a column, for int8 */
    int32_t *totals; /* of a column's int8 weights */
} tk_linear;

/* Rows of w are `step` floats apart; bias may be NULL. NULL where memory is short. */
tk_linear *tk_linear_new(const float *w, size_t step, size_t n, size_t k, const float *bias, int kind);
void tk_linear_free(tk_linear *l);

typedef struct {
    const tk_linear *l;
    const float *x, *residual; /* residual may be NULL */
    float *y;
    size_t m;
    ptrdiff_t x_step, y_step, residual_step;
    int activation;     /* of lanes_math.h */
    int wide;           /* not to round rows of x to bf16, whatever the CPU has */
    const uint8_t *x8;  /* [m][x8_step]: quantised rows, for int8; rows of bf16 where the CPU multiplies them */
    size_t x8_step;
    const float *x_scale;
    const int32_t *x_zero;
} tk_product;

typedef struct {
    /* Rows from … to by panels first … last. */
    void (*part)(const tk_product *p, size_t from, size_t to, size_t first, size_t last);
    /* x = scale * (out - zero); scale is NaN where some x is not finite. Of tk_gemm_bf16, out is x rounded to
       bf16, and scale and zero are left alone. */
    void (*quantise)(const float *x, size_t k, uint8_t *out, size_t room, float *scale, int32_t *zero);
} tk_gemm_kernels;
extern const tk_gemm_kernels tk_gemm_bf16;
int tk_has_bf16(void); /* whether tk_gemm_bf16 can run here */

int tk_linear_run(tk_product *p, int isa, int threads);
#endif
