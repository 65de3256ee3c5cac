/* Weights in groups of 32 inputs: their quantization and their layout (linear.h). */
#ifndef TK_LINEAR_GROUPS_H
#define TK_LINEAR_GROUPS_H
#include "nn/linear.h"

/* The half nearest to x, ties to even; infinity from 65520 on. */
uint16_t tk_half_of(float x);
float tk_float_of_half(uint16_t half);

/* Quantise a column of finite weights. Of int8 the scale is the greatest weight by 127; of int4 the scale is searched
   for the least sum of squared errors, each times its weight's square, among those that put the greatest weight at
   -7 … -9. */
void tk_linear_pack_groups(tk_linear *l, const float *w, size_t column);
#endif
