/* Linear attention: weights are products of positive features, and a state holds the sums over all earlier keys.

   out_i = Σ_j φ(q_i)·φ(k_j) v_j / Σ_j φ(q_i)·φ(k_j), zeros where the divisor is below FLT_MIN. S = Σ_j φ(k_j) v_jᵀ and
   z = Σ_j φ(k_j) are all that is kept of keys, so that time grows with the length, and memory does not. */
#ifndef TK_FEATURE_ATTENTION_H
#define TK_FEATURE_ATTENTION_H
#include "nn/attend.h"

/* elu(x) + 1; max(0, x); e^x of logits, each row of queries and all keys so far less their greatest. */
enum { TK_FEATURE_ELU, TK_FEATURE_RELU, TK_FEATURE_EXP, TK_FEATURES };
/* What a call does: keys and values are added to the state; queries are answered from it. Both: causally, query i
   being answered when key i was added. */
enum { TK_ABSORB = 1, TK_ANSWER = 2 };
enum { TK_FEATURE_CHUNK = 64 };

typedef struct {
    const float *q, *k, *v;
    float *out, *state; /* (batch, key heads, f * e + f + 1), without gaps: S, z, the greatest logit of keys */
    tk_steps q_by, k_by, v_by, out_by;
    const uint8_t *ignored; /* (batch, keys), 1 = never seen; or NULL */
    ptrdiff_t ignored_by;
    size_t batch, heads, group; /* query heads, and how many of them share a key head */
    size_t n_queries, n_keys, f, e;
    int feature, does;
} tk_feature_attention;

/* One head of keys of one sequence, and its queries. */
typedef void tk_attend_features(const tk_feature_attention *a, size_t sequence, size_t kv_head, float *room);

/* Floats that tk_attend_features works in. */
size_t tk_feature_room(const tk_feature_attention *a);

int tk_feature_attention_run(const tk_feature_attention *a, int isa, int threads);
#endif
