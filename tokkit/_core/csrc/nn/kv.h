/* Keys and values of the earlier tokens of a sequence in each layer, read by the attention of later tokens. */
#ifndef TK_KV_H
#define TK_KV_H
#include "nn/attend.h"

/* At most TK_KV_CHUNK new tokens go through a layer at once. A layer with a window keeps TK_KV_BACK tokens more than
   the window when it moves, so that some may be taken back. */
enum { TK_KV_CHUNK = 256, TK_KV_BACK = 64 };

/* One layer's (kv_heads, room, head_dim): the token at position p is in row p - first. */
typedef struct {
    void *k, *v;
    float *k_scales, *v_scales; /* (kv_heads, room) of int8, else NULL */
    size_t room, first;
} tk_kv_layer;

typedef struct {
    tk_kv_layer *layers;
    int type; /* TK_KV_… of attend.h */
    size_t heads, head_dim, length;
} tk_kv;

/* Rows that a layer needs for `length` tokens if it sees `window` of them. */
size_t tk_kv_rows(size_t length, ptrdiff_t window);

/* Makes room in a layer for tokens up to position `end`, of which those from `at` on are new, by forgetting what the
   window has left. */
void tk_kv_make_room(const tk_kv *kv, size_t layer, size_t at, size_t end, ptrdiff_t window);

/* Stores rows of (heads, head_dim), `step` floats apart, as tokens at positions from `at` on; k or v may be NULL. */
void tk_kv_keep(const tk_kv *kv, size_t layer, const float *k, const float *v, size_t step, size_t at, size_t rows);

/* Says to an attention over n_keys positions which keys and values those of a layer are; its queries come last. */
void tk_kv_attention(const tk_kv *kv, size_t layer, size_t n_keys, tk_attention *a);
#endif
