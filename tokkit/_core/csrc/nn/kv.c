/* Storing, moving and finding keys and values: see kv.h. */
#include "nn/kv.h"
#include "nn/bf16.h"

#include <float.h>

static void to_bfloat16(const float *x, size_t n, uint16_t *y) {
    for (size_t i = 0; i < n; i++) y[i] = tk_bf16_of(x[i]);
}

/* By the greatest of them; the scale is NaN if one of them is no finite number. Sizes are compared as whole numbers,
   and rounded by a number that leaves no digits after the point: compilers make vectors of that. */
static void to_int8(const float *x, size_t n, int8_t *y, float *scale) {
    int32_t most = 0;
    for (size_t i = 0; i < n; i++) {
        int32_t bits;
        memcpy(&bits, x + i, sizeof bits);
        bits &= 0x7FFFFFFF;
        most = bits > most ? bits : most;
    }
    float top;
    memcpy(&top, &most, sizeof top);
    const float by = top <= FLT_MAX && top > FLT_MIN * 127 ? 127 / top : 0;
    *scale = by > 0 ? top / 127 : top * 0.0f;
    if (by == 0) memset(y, 0, n);
    for (size_t i = 0; by > 0 && i < n; i++) y[i] = (int8_t)(int32_t)((x[i] * by + 12582912.0f) - 12582912.0f);
}

static void store(const tk_kv *kv, const float *x, size_t step, size_t rows, size_t room, size_t row, void *to,
                  float *scales) {
    TK_ASSERT(to && row + rows <= room && step >= kv->heads * kv->head_dim && (scales || kv->type != TK_KV_INT8));
    const size_t size = kv->head_dim;
    for (size_t r = 0; r < rows; r++, x += step)
        for (size_t h = 0; h < kv->heads; h++) {
            size_t at = h * room + row + r;
            if (kv->type == TK_KV_INT8) to_int8(x + h * size, size, (int8_t *)to + at * size, scales + at);
            else if (kv->type == TK_KV_BFLOAT16) to_bfloat16(x + h * size, size, (uint16_t *)to + at * size);
            else memcpy((float *)to + at * size, x + h * size, size * sizeof(float));
        }
}

void tk_kv_keep(const tk_kv *kv, size_t layer, const float *k, const float *v, size_t step, size_t at, size_t rows) {
    const tk_kv_layer *l = &kv->layers[layer];
    TK_ASSERT(at >= l->first);
    if (k) store(kv, k, step, rows, l->room, at - l->first, l->k, l->k_scales);
    if (v) store(kv, v, step, rows, l->room, at - l->first, l->v, l->v_scales);
}

size_t tk_kv_rows(size_t length, ptrdiff_t window) {
    if (window >= TK_FAR) return length;
    size_t most = (size_t)window + TK_KV_BACK + TK_KV_CHUNK;
    return length < most ? length : most;
}

void tk_kv_make_room(const tk_kv *kv, size_t layer, size_t at, size_t end, ptrdiff_t window) {
    tk_kv_layer *l = &kv->layers[layer];
    if (end - l->first <= l->room) return;
    size_t from = at > (size_t)window + TK_KV_BACK ? at - (size_t)window - TK_KV_BACK : 0;
    if (from <= l->first) return; /* the caller has seen to it that there is room */
    TK_ASSERT(at <= end && at - l->first <= l->room && end - from <= l->room);
    size_t gone = from - l->first, left = at - from, size = kv->head_dim * tk_kv_size(kv->type);
    for (size_t h = 0; h < kv->heads; h++) {
        size_t row = h * l->room;
        memmove((char *)l->k + row * size, (char *)l->k + (row + gone) * size, left * size);
        memmove((char *)l->v + row * size, (char *)l->v + (row + gone) * size, left * size);
        if (kv->type != TK_KV_INT8) continue;
        memmove(l->k_scales + row, l->k_scales + row + gone, left * sizeof(float));
        memmove(l->v_scales + row, l->v_scales + row + gone, left * sizeof(float));
    }
    l->first = from;
}

void tk_kv_attention(const tk_kv *kv, size_t layer, size_t n_keys, tk_attention *a) {
    const tk_kv_layer *l = &kv->layers[layer];
    TK_ASSERT(n_keys >= l->first && n_keys - l->first <= l->room && a->n_queries <= n_keys - l->first);
    a->kv = kv->type, a->k = l->k, a->v = l->v;
    a->k_scales = l->k_scales, a->v_scales = l->v_scales, a->scales_by = (ptrdiff_t)l->room;
    a->k_by.head = (ptrdiff_t)(l->room * kv->head_dim), a->k_by.row = (ptrdiff_t)kv->head_dim;
    a->v_by = a->k_by;
    a->n_keys = n_keys - l->first;
    a->offset = (ptrdiff_t)(a->n_keys - a->n_queries);
}
