/* c = a b + add for matrices of any layout: the matrix products of training, whose operands change at each step.

   Steps between rows and columns make a transposed operand of any of them: x Wᵀ, dy W and dyᵀ x are one function.
   Both operands are packed as they are needed. The sums of an element of c are made in an order that depends on k
   alone, so that results are the same for any number of threads. */
#ifndef TK_MATMUL_H
#define TK_MATMUL_H
#include "base.h"

typedef struct {
    const float *a, *b; /* (m, k), (k, n); of each, one of the two steps is 1 */
    const float *add;   /* (m, n), rows add_row apart; may be c, or NULL; add_row is 0 for a bias */
    float *c;           /* (m, n), rows c_row apart */
    ptrdiff_t a_row, a_column, b_row, b_column, add_row, c_row;
    size_t m, n, k;
    float *a_sums; /* (m): the sums of the rows of a are added to them; or NULL */
    int bf16;      /* one of the following */
} tk_matmul;

/* Whether numbers of a and b are rounded to bf16 as they are packed; products are exact then, and sums are of floats.
   Where the CPU multiplies pairs of bf16, that is as exact; TK_MATMUL_BF16 does so if it is faster there. */
enum { TK_MATMUL_F32, TK_MATMUL_BF16, TK_MATMUL_BF16_FMA, TK_MATMUL_BF16_DOTS };

/* Floats of the room that part needs for so many rows, columns and inputs. */
typedef size_t tk_matmul_room(size_t rows, size_t columns, size_t k);
/* Rows from … to by columns first … last. */
typedef void tk_do_matmul(const tk_matmul *w, size_t from, size_t to, size_t first, size_t last, float *room);
typedef struct {
    tk_do_matmul *run;
    tk_matmul_room *room;
} tk_matmul_kernels;

/* Those that multiply pairs of bf16, or NULL where the CPU has no such instruction. */
const tk_matmul_kernels *tk_matmul_dots(void);

/* Memory that products work in, kept from one to the next: it would be asked of the system, and cleared, each time. */
typedef struct {
    float *floats;
    size_t capacity; /* bytes */
} tk_room;

int tk_matmul_run(const tk_matmul *w, tk_room *room, int isa, int threads);
#endif
