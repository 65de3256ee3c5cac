/* A post-norm transformer encoder on packed sequences, all layers in one call.

   A few sequences are processed at a time, so that the output of a layer is still in the cache when the next one reads
   it; threads share these chunks. Nothing is padded. */
#ifndef TK_ENCODER_H
#define TK_ENCODER_H
#include "nn/attend.h"
#include "nn/linear.h"

/* x = norm(x + o(attention(qkv(x)))), then x = norm(x + down(activation(up(x)))). */
typedef struct {
    const tk_linear *qkv, *o, *up, *down; /* rows of qkv: those of q, k and v, one after another */
    const float *attention_weight, *attention_bias, *forward_weight, *forward_bias; /* of the norms: (dim) each */
} tk_encoder_layer;

typedef struct {
    const tk_encoder_layer *layers;
    size_t n_layers, heads, dim;
    int activation; /* of lanes_math.h */
    float eps, scale;
    const float *by_distance; /* as in attend.h, long enough for the longest sequence; or NULL */
    ptrdiff_t distance_by, zero;
} tk_encoder;

/* x (starts[n], dim) is changed in place; `states`, where not NULL, gets x after each layer: (n_layers, rows, dim).
   starts: n + 1 rising row numbers from 0 on. */
int tk_encoder_run(const tk_encoder *e, float *x, const int64_t *starts, size_t n, float *states, int isa, int threads);
#endif
